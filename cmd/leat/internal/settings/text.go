package settings

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"
)

// Text is a value with its origin. In a file it may contain ${env:NAME} and ${file:PATH}, which are looked
// up when the value is needed.
type Text struct {
	// Value is the text. Before resolve, it is the text in the file.
	Value string
	// From is the name of the flag or variable, or the file with a line, "" for a default.
	From string

	line int
	name string
	// said is the value with ${file:PATH} not replaced, "" if it has none.
	said string
}

// Set reports whether t has a value.
func (t Text) Set() bool { return t.Value != "" }

// String returns the value.
func (t Text) String() string { return t.Value }

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// errEmpty is returned for a text that is empty once its references are filled in. It would otherwise count
// as not set: an empty variable must not choose another database.
var errEmpty = errors.New("is empty: leave the field out to say nothing")

// resolve returns t with references filled in. A text with references that ends up empty is an error.
func (t Text) resolve(lookup func(string) (string, bool)) (Text, error) {
	var wrong error
	fromFile, said, shown := false, t.Value, t.Value
	t.Value = reference.ReplaceAllStringFunc(t.Value, func(whole string) string {
		kind, name, _ := strings.Cut(whole[2:len(whole)-1], ":")
		value, err := look(kind, name, lookup)
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("%s: %w", whole, err)
		}
		if kind == "file" {
			keepSecret(value)
			fromFile = true
			return value
		}
		shown = strings.Replace(shown, whole, value, 1)
		return value
	})
	if fromFile {
		t.said = shown
	}
	if wrong == nil && said != "" && t.Value == "" {
		wrong = fmt.Errorf("%s: %w", said, errEmpty)
	}
	return t, wrong
}

// Again returns the value with the current content of the files that it refers to, such as a changed
// password.
func (t Text) Again() (string, error) {
	if t.said == "" {
		return t.Value, nil
	}
	again, err := Text{Value: t.said}.resolve(func(string) (string, bool) { return "", false })
	return again.Value, err
}

func look(kind, name string, lookup func(string) (string, bool)) (string, error) {
	switch kind {
	case "env":
		value, ok := lookup(name)
		if !ok {
			return "", fmt.Errorf("the variable %s is not set", name)
		}
		return value, nil
	case "file":
		content, err := os.ReadFile(name) //nolint:gosec // the operator's own file names it
		return strings.TrimRight(string(content), "\r\n"), err
	default:
		return "", errors.New("must be ${env:NAME} or ${file:PATH}")
	}
}

// Line is the line of t in the file, 0 if it is not from a file.
func (t Text) Line() int { return t.line }

// Name is the name of the field in the file, such as outboxes[0].name, or of the flag.
func (t Text) Name() string {
	if t.name == "" {
		return t.From
	}
	return t.name
}

// inGo matches Go names in a text: a field with its struct, and names that are not ordinary words.
var inGo = regexp.MustCompile(`\b((?:[A-Za-z]+\.)*)([A-Z]+[a-z]*[A-Z]?\w*)\b`)

// ofTheFile maps the names of the library's Go fields to those in the file.
var ofTheFile = sync.OnceValue(func() map[string]string { //nolint:gochecknoglobals // a table, made once
	names := map[string]string{}
	nameFields(reflect.TypeFor[File](), names)
	return names
})

func nameFields(t reflect.Type, names map[string]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[Text]() || t == reflect.TypeFor[Place]() {
		return
	}
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" && name != "-" {
			names[field.Name] = name
		}
		nameFields(field.Type, names)
	}
}

// InFile returns an error text of leat in which fields have their names in the file instead of those in Go,
// since its reader sees the file. A name that is also an ordinary word is only replaced after its struct, such
// as in Config.Topics, and in errors about the configuration.
func InFile(text string) string {
	refusal := strings.Contains(text, "leat: invalid configuration: ")
	return inGo.ReplaceAllStringFunc(text, func(found string) string {
		match := inGo.FindStringSubmatch(found)
		name, ok := ofTheFile()[match[2]]
		word := match[2] == strings.ToUpper(match[2]) || !refusal && !strings.Contains(name, "_")
		if of := match[1]; !ok || of == "" && word || of != "" && !strings.HasSuffix(of, "Config.") {
			return found
		}
		return name
	})
}
