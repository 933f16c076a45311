package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// dict returns alternating names and values as a map.
func dict(pairs ...any) (map[string]any, error) {
	all := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, errors.New("leat: the name of a value must be a string")
		}
		all[name] = pairs[i+1]
	}
	return all, nil
}

const utcLayout = "2006-01-02 15:04:05"

// utc formats a time for readers, in UTC; a script may write it in local time.
func utc(at time.Time) template.HTML { return timeOf(at, at.UTC().Format(utcLayout)+"Z") }

// relative formats a time for readers by how long ago it was, or how soon it is.
func relative(at time.Time) template.HTML {
	away := time.Since(at)
	if away < 0 {
		return timeOf(at, "in "+age(-away))
	}
	return timeOf(at, age(away)+" ago")
}

// precise formats a time to the millisecond, for events close together.
func precise(at time.Time) template.HTML { return timeOf(at, at.UTC().Format("15:04:05.000")) }

// timeOf returns an element with text, and with the full time as its title.
func timeOf(at time.Time, text string) template.HTML {
	if at.IsZero() {
		return "–"
	}
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC">%s</time>`, at.Format(time.RFC3339Nano), at.Format(utcLayout), text)) //nolint:gosec // digits
}

// age formats how long ago something was, in one unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
}

// duration formats seconds for readers, in at most two units.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d <= 0:
		return "0"
	case d < time.Second:
		d = d.Round(time.Millisecond)
		if d == 0 {
			return "0"
		}
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d.Round(100*time.Millisecond) < time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	}
	d = d.Round(time.Second)
	two := func(first, second time.Duration, a, b string) string {
		text := fmt.Sprintf("%d %s", d/first, a)
		if rest := d % first / second; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest, b)
		}
		return text
	}
	switch {
	case d < time.Hour:
		return two(time.Minute, time.Second, "m", "s")
	case d < 48*time.Hour:
		return two(time.Hour, time.Minute, "h", "m")
	default:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
}

// size formats bytes for readers.
func size(bytes int64) string {
	value, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + unit
}

// grouped formats a number with its thousands separated.
func grouped(n any) string {
	switch n := n.(type) {
	case float64:
		text := strconv.FormatFloat(n, 'f', 1, 64)
		whole, part, _ := strings.Cut(text, ".")
		if part == "0" || n >= 100 {
			return thousands(whole)
		}
		return thousands(whole) + "." + part
	default:
		return thousands(fmt.Sprint(n))
	}
}

func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// count formats a number of things, with the singular and plural of their name.
func count(n any, one, several string) string {
	if text := grouped(n); text != "1" {
		return text + " " + several
	}
	return "1 " + one
}

// causeOf returns the text of an error without leat's prefix, which the page shows separately in
// words.
func causeOf(text string) string {
	if _, kind, ok := strings.Cut(text, "leat: delivery failed ("); ok && strings.HasPrefix(text, "leat: ") {
		if _, rest, ok := strings.Cut(kind, "): "); ok {
			text = rest
		}
	}
	return strings.TrimPrefix(text, "leat: ")
}

// middle shortens a text in its middle, since keys and names differ at their ends.
func middle(text string) string {
	const head, tail = 27, 20
	if utf8.RuneCountInString(text) <= head+tail+1 {
		return text
	}
	runes := []rune(text)
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// holder shortens the name of the owner of a lease, host/process/id/number, to host/process.
func holder(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if len(part) == 36 && strings.Count(part, "-") == 4 && i > 0 {
			return strings.Join(parts[:i], "/")
		}
	}
	return middle(name)
}

const (
	// mostTree bounds the values that are shown as trees, in bytes and levels. Larger ones are
	// shown as text.
	mostTree   = 64 << 10
	mostLevels = 40
)

// tree returns a JSON value as nested elements that can be closed, or "" if it is too large.
func tree(text string) template.HTML {
	if len(text) > mostTree {
		return ""
	}
	t := treeWriter{in: json.NewDecoder(strings.NewReader(text))}
	t.in.UseNumber()
	if err := t.value("", 0); err != nil {
		return ""
	}
	if _, err := t.in.Token(); !errors.Is(err, io.EOF) {
		return ""
	}
	return template.HTML(t.out.String()) //nolint:gosec // every text was escaped
}

// treeWriter writes a JSON value as HTML.
type treeWriter struct {
	in  *json.Decoder
	out strings.Builder
}

var errDeep = errors.New("leat: the value has too many levels")

// value writes the next value, after its label.
func (t *treeWriter) value(label string, level int) error {
	token, err := t.in.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		t.leaf(label, scalar(token))
		return nil
	}
	if level >= mostLevels {
		return errDeep
	}
	closing := map[json.Delim]string{'{': "}", '[': "]"}[open]
	if !t.in.More() {
		t.leaf(label, open.String()+closing)
		_, err := t.in.Token()
		return err
	}
	kind := map[bool]string{true: ` class="arr"`}[open == '[']
	t.out.WriteString("<details" + kind + " open><summary>" + label + open.String() + "</summary>")
	if err := t.members(open == '{', level+1); err != nil {
		return err
	}
	t.out.WriteString(`<div class="leaf close">` + closing + "</div></details>")
	return nil
}

// members writes the members of an object or an array, and reads its end.
func (t *treeWriter) members(object bool, level int) error {
	for t.in.More() {
		label := ""
		if object {
			name, err := t.in.Token()
			if err != nil {
				return err
			}
			label = "<b>" + template.HTMLEscapeString(fmt.Sprint(name)) + "</b>: "
		}
		if err := t.value(label, level); err != nil {
			return err
		}
	}
	_, err := t.in.Token()
	return err
}

func (t *treeWriter) leaf(label, value string) {
	t.out.WriteString(`<div class="leaf">` + label + value + "</div>")
}

// scalar returns a value that has no members, as HTML.
func scalar(token json.Token) string {
	switch v := token.(type) {
	case string:
		if v == redacted {
			return `<span class="muted">redacted</span>`
		}
		return "<i>" + template.HTMLEscapeString(quote(v)) + "</i>"
	case nil:
		return "<em>null</em>"
	default:
		return "<em>" + template.HTMLEscapeString(fmt.Sprint(v)) + "</em>"
	}
}

// quote returns a text as a JSON string, without the escapes that json.Marshal adds only for
// HTML.
func quote(text string) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text
	return strings.TrimSuffix(out.String(), "\n")
}

// indent returns valid JSON with one member per line, approximately as much as fits in most
// bytes. json.Indent would turn a megabyte of brackets into gigabytes.
func indent(body []byte, most int) []byte {
	in := indenter{}
	for i := 0; i < len(body) && in.out.Len() < most; i++ {
		in.add(body[i])
	}
	return in.out.Bytes()
}

// indenter is the state between two bytes of a JSON value.
type indenter struct {
	out             bytes.Buffer
	depth           int
	quoted, escaped bool
	opened          bool // the object or array has no members yet
}

func (in *indenter) add(b byte) {
	switch {
	case in.quoted:
		in.quoted = in.escaped || b != '"'
		in.escaped = !in.escaped && b == '\\'
		in.out.WriteByte(b)
	case b == ' ' || b == '\n' || b == '\t' || b == '\r':
	default:
		in.token(b)
	}
}

func (in *indenter) token(b byte) {
	empty := in.opened
	in.opened = b == '{' || b == '['
	closes := b == '}' || b == ']'
	if closes {
		in.depth--
	}
	if empty != closes { // the first member, or the end after some members
		in.line()
	}
	in.out.WriteByte(b)
	switch {
	case in.opened:
		in.depth++
	case b == ',':
		in.line()
	case b == ':':
		in.out.WriteByte(' ')
	case b == '"':
		in.quoted = true
	}
}

func (in *indenter) line() {
	in.out.WriteByte('\n')
	in.out.WriteString(strings.Repeat("  ", in.depth))
}
