package settings

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
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
