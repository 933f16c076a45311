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

// Text is a value and where it was said. In a file it may have ${env:NAME} and
// ${file:PATH} in it, which are looked up when the value is needed.
type Text struct {
	// Value is the text; before resolve as it stands in the file.
	Value string
	// From names the flag, the variable or the file with its line, "" for a default.
	From string

	line int
	name string
	// said is the value with ${file:PATH} as it stands in the file, "" if it has none.
	said string
}

// Set reports whether t says anything.
func (t Text) Set() bool { return t.Value != "" }

// String returns the value.
func (t Text) String() string { return t.Value }

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// errEmpty is of a text that would say nothing once it is filled in, and so what is said
// elsewhere: a variable that is empty must not choose another database.
var errEmpty = errors.New("is empty: leave the field out to say nothing")

// resolve returns t with what it refers to filled in. What refers to something and ends
// up empty is an error.
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

// Again returns the value with what it has from files as they are now, such as a password that
// was changed.
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

// Line is that of the file in which t stands, 0 if it stands in none.
func (t Text) Line() int { return t.line }

// Name is the name that the file has for it, such as outboxes[0].name, or the flag's.
func (t Text) Name() string {
	if t.name == "" {
		return t.From
	}
	return t.name
}

// inGo are names of Go in a text: those of a field, with what it is of, and those that nobody takes for a word.
var inGo = regexp.MustCompile(`\b((?:[A-Za-z]+\.)*)([A-Z]+[a-z]*[A-Z]?\w*)\b`)

// ofTheFile are the names of the file by those of Go, which are the library's.
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

// InFile is an error of leat's in which fields have the names of the file, and not those of Go: whoever reads it
// has the file before him. A name of one word is replaced behind what it is of, such as Config.Topics, and in
// what a configuration is refused for.
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
