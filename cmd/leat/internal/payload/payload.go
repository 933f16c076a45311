// Package payload decodes payloads for operators: it opens sealed ones with key files, and decodes Avro and
// JSON Schema with a schema registry, and Protobuf with a descriptor set.
package payload

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/content/registry"
)

// Sources are the sources that a Reader decodes with. Each is optional.
type Sources struct {
	// Registry is the URL of a schema registry.
	Registry string
	// Keys is a directory of key files. The file name is the name of the key, the content an AES-GCM key in
	// base64.
	Keys string
	// Descriptors is the file of a descriptor set, Protobuf are the messages in it, as TOPICS=MESSAGE.
	Descriptors string
	Protobuf    []string
}

// ConfigError is an error of a setting.
type ConfigError struct {
	// Setting is registry, keys, descriptors or protobuf. Index is the index of the wrong value, from 0.
	Setting string
	Index   int
	Value   string
	Err     error
}

// Error names setting and value.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s = %.200q: %v", e.Setting, e.Value, e.Err)
}

// Reason is the value, without a password, and what is wrong with it.
func (e *ConfigError) Reason() string {
	return fmt.Sprintf("%.200q: %v", settings.Redact(e.Value), e.Err)
}

// Unwrap returns the reason.
func (e *ConfigError) Unwrap() error { return e.Err }

// Reader decodes payloads. It is safe for concurrent use.
type Reader struct {
	registry *registry.Registry // nil without one
	content  *content.Content
	protobuf []decoder
}

var errURL = errors.New("must be a URL that begins with http:// or https://")

// New returns a Reader. It connects to nothing. Errors are *ConfigError.
func New(s Sources) (*Reader, error) {
	keys, r := keyFiles(s.Keys), &Reader{}
	err := keys.validate()
	if err != nil {
		return nil, &ConfigError{"keys", 0, s.Keys, err}
	}
	// A message that is not a CloudEvent is left as it is. Source is only used for sending.
	r.content, err = content.New(content.Config{Seal: &content.Seal{Keys: keys}, CloudEvents: &content.CloudEvents{Source: "leat"}})
	if err != nil {
		return nil, err
	}
	if r.protobuf, err = decoders(s.Descriptors, s.Protobuf); err != nil || s.Registry == "" {
		return r, err
	}
	address, err := url.Parse(s.Registry)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, &ConfigError{"registry", 0, s.Registry, errURL}
	}
	client, err := sr.NewClient(sr.URLs(s.Registry))
	if err == nil {
		r.registry, err = registry.New(registry.Config{Client: client})
	}
	if err != nil {
		return nil, &ConfigError{"registry", 0, s.Registry, err}
	}
	return r, nil
}

// Show returns a decoded payload. A payload that needs no decoding is returned unchanged. Show is made for
// dashboard.Decoder: headers must have event-id and event-type.
func (r *Reader) Show(topic string, headers map[string]string, payload []byte) ([]byte, error) {
	if sealed(headers) {
		var err error
		if payload, err = r.content.Show(topic, headers, payload); err != nil {
			return nil, err
		}
	}
	framed := len(payload) > frameBytes && payload[0] == 0
	for _, d := range r.protobuf {
		if topics.Match(d.topics, topic) {
			return d.decode(payload, framed)
		}
	}
	if framed && r.registry != nil {
		return r.registry.Show(topic, headers, payload)
	}
	return payload, nil
}

// sealed reports whether the headers name a key, as leat's header or a CloudEvent's.
func sealed(headers map[string]string) bool {
	for name := range headers {
		if name == "content-key" || strings.HasSuffix(name, "contentkey") {
			return true
		}
	}
	return false
}
