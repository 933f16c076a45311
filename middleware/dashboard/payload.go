package dashboard

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leat-go/leat/internal/topics"
)

// Decoder makes payloads of some topics readable, such as those in Protobuf or Avro.
type Decoder struct {
	// Topics is a pattern of topics, in which * stands for any run of characters. Required.
	Topics string
	// Decode returns a payload as JSON, or as text. Headers are those of the message, with its
	// event-id and event-type, so that Content.Show of middleware/content can open it. It must
	// not change its arguments. It is called from any goroutine and without a time limit, so it
	// should be fast. Its error, or panic, is shown instead of the payload, and logged if the
	// payload is withheld. Required.
	Decode func(topic string, headers map[string]string, payload []byte) ([]byte, error)
}

// payloadView is the form in which a page shows a payload.
type payloadView struct {
	// Bytes is the length of the stored payload.
	Bytes int `json:"bytes"`
	// Form is json, text, hex or withheld.
	Form string `json:"form"`
	// Text is the payload, up to Config.MaxShown.
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
	// Decoded is set if a Decoder has made it readable.
	Decoded bool `json:"decoded,omitempty"`
	// Error is the reason why it could not be decoded. If the payload is withheld, only the log has the
	// reason.
	Error string `json:"error,omitempty"`
}

// The forms in which a payload is shown.
const (
	formJSON     = "json"
	formText     = "text"
	formHex      = "hex"
	formWithheld = "withheld"
)

// content is a payload that may be shown.
type content struct {
	body    []byte
	form    string
	decoded bool
	err     error
}

// content decodes and redacts a payload.
func (d *Dashboard) content(topic string, headers map[string]string, payload []byte) content {
	c := content{body: payload}
	for _, decoder := range d.cfg.Decoders {
		if !topics.Match(decoder.Topics, topic) {
			continue
		}
		body, err := decode(decoder, topic, headers, payload)
		if err == nil {
			c.body, c.decoded = body, !bytes.Equal(body, payload)
		}
		c.err = err
		break
	}
	if json.Valid(c.body) {
		body, err := d.cfg.Redact.json(c.body)
		if err != nil {
			return content{form: formWithheld, err: err}
		}
		c.body, c.form = body, formJSON
		return c
	}
	switch {
	case len(d.cfg.Redact.Paths) > 0 && len(payload) > 0:
		return content{form: formWithheld, err: c.err}
	case readable(c.body):
		c.form = formText
	default:
		c.form = formHex
	}
	return c
}

// decode calls a user's Decoder.
func decode(decoder Decoder, topic string, headers map[string]string, payload []byte) (body []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder panicked: %.500v", p)
		}
	}()
	return decoder.Decode(topic, headers, bytes.Clone(payload))
}

// readable reports whether body is text.
func readable(body []byte) bool {
	return utf8.Valid(body) && !strings.ContainsFunc(string(body), func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}

// view returns a payload for a page.
func (d *Dashboard) view(topic string, headers map[string]string, payload []byte) *payloadView {
	c := d.content(topic, headers, payload)
	v := &payloadView{Bytes: len(payload), Form: c.form, Decoded: c.decoded}
	switch {
	case c.err == nil:
	case c.form == formWithheld: // the error may quote the payload
		v.Error = "It could not be decoded. The log of this server says why."
		d.cfg.Logger.Warn("payload was withheld", slog.String("topic", topic), slog.Any("error", c.err))
	default:
		v.Error = c.err.Error()
	}
	body, most := c.body, d.cfg.MaxShown
	if c.form == formJSON {
		body = indent(body, most+1)
	}
	if v.Truncated = len(body) > most; v.Truncated {
		body = body[:most]
		if c.form != formHex {
			body = bytes.ToValidUTF8(body, nil) // a character that was cut
		}
	}
	v.Text = string(body)
	if c.form == formHex {
		v.Text = hex.Dump(body)
	}
	return v
}
