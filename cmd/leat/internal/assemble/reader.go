package assemble

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// reader reads texts, and collects what is wrong with them.
type reader struct{ findings []settings.Finding }

// wrong records that t is not valid.
func (r *reader) wrong(t settings.Text, reason string) {
	r.findings = append(r.findings, settings.Finding{Line: t.Line(), Text: t.Name() + ": " + reason})
}

// missing records that a section lacks a field.
func (r *reader) missing(at settings.Place, field, reason string) {
	r.findings = append(r.findings, settings.Finding{Line: at.Line, Text: strings.TrimPrefix(at.Path+"."+field, ".") + ": " + reason})
}

func (r *reader) span(t settings.Text) time.Duration {
	if !t.Set() {
		return 0
	}
	d, err := settings.ParseSpan(t.Value)
	switch {
	case err != nil:
		r.wrong(t, err.Error())
	case d <= 0:
		r.wrong(t, fmt.Sprintf("%q: must be more than 0", t.Value))
	}
	return d
}

// age reads a span, or the word forever, for which it returns ever.
func (r *reader) age(t settings.Text, ever time.Duration) time.Duration {
	if t.Value == "forever" {
		return ever
	}
	return r.span(t)
}

func (r *reader) size(t settings.Text) int64 {
	if !t.Set() {
		return 0
	}
	n, err := settings.ParseSize(t.Value)
	if err != nil {
		r.wrong(t, err.Error())
	}
	return n
}

// count reads a number, which must not be below least; 0 if t is not set.
func (r *reader) count(t settings.Text, least int) int {
	if !t.Set() {
		return 0
	}
	n, err := strconv.Atoi(t.Value)
	if err != nil || n < least {
		r.wrong(t, fmt.Sprintf("%q: must be a number, at least %d", t.Value, least))
	}
	return n
}

func (r *reader) rate(t settings.Text) float64 {
	if !t.Set() {
		return 0
	}
	f, err := strconv.ParseFloat(t.Value, 64)
	if err != nil || !(f > 0) {
		r.wrong(t, fmt.Sprintf("%q: must be a number above 0", t.Value))
	}
	return f
}

func (r *reader) yes(t settings.Text) bool {
	return r.oneOf(t, "false", "true") == "true"
}

// oneOf returns t, or the first of all if t is not set.
func (r *reader) oneOf(t settings.Text, all ...string) string {
	switch {
	case !t.Set():
		return all[0]
	case !slices.Contains(all, t.Value):
		r.wrong(t, fmt.Sprintf("%q: must be one of %q", t.Value, all))
	}
	return t.Value
}

func texts(all []settings.Text) []string {
	var values []string
	for _, t := range all {
		values = append(values, t.Value)
	}
	return values
}

var configError = regexp.MustCompile(`(?s)^(?:.*?leat: invalid configuration: )([\w.\[\]]+)(.*)$`)

// refused records an error with which the library rejects a section. If the error names a field of the
// section, the finding has the field's line and name in the file.
func (r *reader) refused(at settings.Place, section any, err error) {
	text := settings.InFile(settings.Redact(err.Error()))
	match := configError.FindStringSubmatch(text)
	if match == nil {
		r.findings = append(r.findings, settings.Finding{Line: at.Line, Text: at.Path + ": " + text})
		return
	}
	last := match[1][strings.LastIndex(match[1], ".")+1:]
	if t, name, ok := fieldLike(reflect.ValueOf(section), last); ok {
		line := at.Line
		if t.Line() > 0 {
			line = t.Line()
		}
		name = strings.TrimPrefix(at.Path+"."+name, ".")
		if t.Name() != "" {
			name = t.Name()
		}
		r.findings = append(r.findings, settings.Finding{Line: line, Text: name + match[2]})
		return
	}
	r.findings = append(r.findings, settings.Finding{Line: at.Line, Text: strings.TrimPrefix(at.Path+": ", ": ") + match[1] + match[2]})
}

// fieldLike returns the text of the field that the library calls field, ignoring case and underscores. For
// a list it returns the text at the index, or the first one.
func fieldLike(section reflect.Value, field string) (t settings.Text, name string, ok bool) {
	field, no, _ := strings.Cut(field, "[")
	no, _, _ = strings.Cut(no, "]")
	index, _ := strconv.Atoi(no)
	if section.Kind() == reflect.Pointer {
		section = section.Elem()
	}
	plain := func(s string) string { return strings.ReplaceAll(s, "_", "") }
	for i := range section.NumField() {
		name, options, _ := strings.Cut(section.Type().Field(i).Tag.Get("yaml"), ",")
		if options == "inline" {
			if t, name, ok = fieldLike(section.Field(i), field); ok {
				return t, name, ok
			}
			continue
		}
		if strings.EqualFold(plain(name), plain(field)) {
			switch value := section.Field(i).Interface().(type) {
			case settings.Text:
				return value, name, true
			case []settings.Text:
				if index < len(value) {
					t = value[index]
				}
				return t, name, true
			default:
				return settings.Text{}, name, true
			}
		}
	}
	return t, "", false
}
