package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
)

// Redaction is what nobody sees. It is left out on the server, of pages, answers and downloads.
type Redaction struct {
	// Headers are patterns of names, in which * stands for any run of characters. Case does
	// not matter. Their values are replaced.
	Headers []string
	// Paths name members of payloads in JSON, such as "customer.email", "cards.*.number" or
	// "**.password": * is any member or element, ** any number of levels. Their values are
	// replaced, whatever they are. If a payload is no JSON and no Decoder makes it JSON, nobody
	// can know whether it has such members: it is withheld as a whole.
	Paths []string
}

// DefaultRedaction hides headers that carry secrets, and nothing of payloads.
func DefaultRedaction() Redaction {
	return Redaction{Headers: []string{"authorization", "*-authorization", "cookie", "set-cookie", "*token*", "*secret*", "*password*", "*api-key*", "*apikey*"}}
}

// redacted stands for what is not shown.
const redacted = "***"

func (r *Redaction) validate() error {
	for i, path := range r.Paths {
		parts := strings.Split(path, ".")
		if slices.Contains(parts, "") || parts[len(parts)-1] == "**" {
			return outbox.ConfigError(fmt.Sprintf("Redact.Paths[%d]", i), fmt.Sprintf("%q", path), "must be names separated by dots, the last one not **")
		}
	}
	for i, pattern := range r.Headers {
		if pattern == "" {
			return outbox.ConfigError(fmt.Sprintf("Redact.Headers[%d]", i), `""`, "must not be empty")
		}
	}
	return nil
}

// headers returns a copy without the values that nobody sees.
func (r *Redaction) headers(all map[string]string) map[string]string {
	if len(all) == 0 {
		return nil
	}
	shown := make(map[string]string, len(all))
	for name, value := range all {
		shown[name] = value
		for _, pattern := range r.Headers {
			if topics.Match(strings.ToLower(pattern), strings.ToLower(name)) {
				shown[name] = redacted
			}
		}
	}
	return shown
}

// json returns body, which is valid JSON, without what nobody sees. Numbers, the order of
// members and those that are there twice stay; if nothing is left out, all bytes do.
func (r *Redaction) json(body []byte) ([]byte, error) {
	if len(r.Paths) == 0 {
		return body, nil
	}
	paths := make([][]string, len(r.Paths))
	for i, path := range r.Paths {
		paths[i] = strings.Split(path, ".")
	}
	w := rewriter{dec: json.NewDecoder(bytes.NewReader(body))}
	w.dec.UseNumber()
	if err := w.value(paths); err != nil {
		return nil, err
	}
	if w.hits == 0 {
		return body, nil
	}
	return w.out.Bytes(), nil
}

// rewriter copies a JSON value token by token.
type rewriter struct {
	dec  *json.Decoder
	out  bytes.Buffer
	hits int
}

func (w *rewriter) value(paths [][]string) error {
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		return w.members(t, paths)
	case json.Number:
		w.out.WriteString(t.String())
		return nil
	default:
		return w.scalar(t)
	}
}

func (w *rewriter) scalar(v any) error {
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	w.out.Truncate(w.out.Len() - 1) // the line break
	return err
}

// members copies an object or an array after its first token.
func (w *rewriter) members(open json.Delim, paths [][]string) error {
	w.out.WriteString(open.String())
	for i := 0; w.dec.More(); i++ {
		if i > 0 {
			w.out.WriteByte(',')
		}
		name := strconv.Itoa(i)
		if open == '{' {
			token, err := w.dec.Token()
			if err != nil {
				return err
			}
			key, ok := token.(string)
			if !ok {
				return errors.New("leat: a member has no name")
			}
			if err := w.scalar(key); err != nil {
				return err
			}
			w.out.WriteByte(':')
			name = key
		}
		if err := w.member(name, paths); err != nil {
			return err
		}
	}
	end, err := w.dec.Token()
	if err != nil {
		return err
	}
	fmt.Fprint(&w.out, end)
	return nil
}

func (w *rewriter) member(name string, paths [][]string) error {
	below, hit := step(paths, name)
	if !hit {
		return w.value(below)
	}
	w.hits++
	var skipped json.RawMessage
	if err := w.dec.Decode(&skipped); err != nil {
		return err
	}
	return w.scalar(redacted)
}

// step returns what is left of paths below a member, and whether one of them ends there.
func step(paths [][]string, name string) (below [][]string, hit bool) {
	for _, path := range paths {
		if path[0] == "**" {
			below = append(below, path)
			deeper, ends := step([][]string{path[1:]}, name)
			below, hit = append(below, deeper...), hit || ends
			continue
		}
		switch {
		case path[0] != "*" && path[0] != name:
		case len(path) == 1:
			hit = true
		default:
			below = append(below, path[1:])
		}
	}
	return below, hit
}
