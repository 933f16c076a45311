package settings

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Text is a value and where it was said. In a file it may have ${env:NAME} and
// ${file:PATH} in it, which are looked up when the value is needed.
type Text struct {
	// Value is the text; before resolve as it stands in the file.
	Value string
	// From names the flag, the variable or the file with its line, "" for a default.
	From string

	line int
}

// Set reports whether t says anything.
func (t Text) Set() bool { return t.Value != "" }

// String returns the value.
func (t Text) String() string { return t.Value }

// UnmarshalYAML keeps the line. Numbers and booleans are texts, too.
func (t *Text) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: must be a text", node.Line)
	}
	*t = Text{Value: node.Value, line: node.Line}
	return nil
}

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// resolve returns t with what it refers to filled in.
func (t Text) resolve(lookup func(string) (string, bool)) (Text, error) {
	var wrong error
	t.Value = reference.ReplaceAllStringFunc(t.Value, func(whole string) string {
		kind, name, _ := strings.Cut(whole[2:len(whole)-1], ":")
		value, err := look(kind, name, lookup)
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("%s: %w", whole, err)
		}
		return value
	})
	return t, wrong
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
