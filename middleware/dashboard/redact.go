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

// Redaction lists the data that no user sees. The server removes it from pages, answers and
// downloads.
type Redaction struct {
	// Headers are patterns of names, in which * stands for any run of characters. Case does
	// not matter. Their values are replaced.
	Headers []string
	// Paths name members of payloads in JSON, such as "customer.email", "cards.*.number" or
	// "**.password": * is any member or element, ** any number of levels. Case does not matter.
	// Their values are replaced, whatever their type. The contents of texts, such as JSON within
	// JSON, are not searched. A payload that is not JSON, and that no Decoder turns into JSON,
	// might have such members: it is withheld as a whole.
	Paths []string
}

// DefaultRedaction hides headers that carry secrets, and leaves payloads unchanged.
func DefaultRedaction() Redaction {
	return Redaction{Headers: []string{
		"authorization", "*-authorization", "*cookie*", "*token*", "*jwt*", "*secret*", "*password*", "*passwd*", "*passphrase*", "*pwd*",
		"*api-key*", "*api_key*", "*apikey*", "*private-key*", "*private_key*", "*privatekey*", "*credential*", "*session*", "*signature*", "*csrf*", "*xsrf*",
	}}
}

// redacted replaces hidden values.
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

// headers returns a copy with hidden values replaced.
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

// json returns body, which is valid JSON, with hidden values replaced. Numbers, the order of
// members and duplicate members are preserved; if nothing is replaced, all bytes are.
func (r *Redaction) json(body []byte) ([]byte, error) {
	if len(r.Paths) == 0 {
		return body, nil
	}
	rules := &rules{}
	at := rules.compile(r.Paths)
	w := rewriter{rules: rules, dec: json.NewDecoder(bytes.NewReader(body))}
	w.dec.UseNumber()
	if err := w.value(at); err != nil {
		return nil, err
	}
	if w.hits == 0 {
		return body, nil
	}
	return w.out.Bytes(), nil
}

// rewriter copies a JSON value token by token.
type rewriter struct {
	rules *rules
	dec   *json.Decoder
	out   bytes.Buffer
	hits  int
}

func (w *rewriter) value(at []int) error {
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		return w.members(t, at)
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
func (w *rewriter) members(open json.Delim, at []int) error {
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
		if err := w.member(name, at); err != nil {
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

func (w *rewriter) member(name string, at []int) error {
	below, hit := w.rules.step(at, name)
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

// rules are paths compiled to one automaton, with a state for each part of each path that must
// still be matched. The cost per member is bounded by the number of states, however deep the
// member is.
type rules struct {
	parts []string
	// last is set for the last part of a path.
	last []bool
	// seen is, for each state, the number of the step that entered it last.
	seen  []int
	steps int
}

// compile adds paths and returns the states before the first member.
func (r *rules) compile(paths []string) (start []int) {
	var first []int
	for _, path := range paths {
		first = append(first, len(r.parts))
		parts := strings.Split(path, ".")
		r.parts = append(r.parts, parts...)
		r.last = append(r.last, make([]bool, len(parts))...)
		r.last[len(r.last)-1] = true
	}
	r.seen = make([]int, len(r.parts))
	r.steps++
	for _, state := range first {
		start = r.enter(start, state)
	}
	return start
}

// enter appends a state, and the states that follow it without a member: ** is any number of
// levels, including none. Each is appended once per step.
func (r *rules) enter(states []int, state int) []int {
	for ; r.seen[state] != r.steps; state++ {
		r.seen[state] = r.steps
		states = append(states, state)
		if r.parts[state] != "**" {
			break
		}
	}
	return states
}

// step returns the states below a member, and whether a path ends there.
func (r *rules) step(at []int, name string) (below []int, hit bool) {
	r.steps++
	for _, state := range at {
		switch part := r.parts[state]; {
		case part == "**":
			below = r.enter(below, state)
		case part != "*" && !strings.EqualFold(part, name):
		case r.last[state]:
			hit = true
		default:
			below = r.enter(below, state+1)
		}
	}
	return below, hit
}
