package settings

import (
	"bytes"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// secretFields are the fields of the file whose values are, or may be, secrets.
var secretFields = []string{"password", "sentinel_password", "secrets", "header"} //nolint:gochecknoglobals // a table

// Redacted returns the file without its secrets and its comments. From then on, Redact hides the same
// secrets in all texts.
func (f *File) Redacted(lookup func(string) (string, bool)) (string, error) {
	content, err := os.ReadFile(f.path)
	if err != nil {
		return "", err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return "", err
	}
	redactNode(&root, false, lookup)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return "", err
	}
	return out.String(), encoder.Close()
}

func redactNode(n *yaml.Node, secret bool, lookup func(string) (string, bool)) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			redactNode(key, false, lookup)
			redactNode(n.Content[i+1], secret || slices.Contains(secretFields, key.Value), lookup)
		}
	case yaml.ScalarNode:
		n.Value = redactValue(n.Value, secret, lookup)
	default:
		for _, part := range n.Content {
			redactNode(part, secret, lookup)
		}
	}
}

// webPath matches a web address, whose path may be a secret by itself.
var webPath = regexp.MustCompile(`^(https?://[^/?#]+/)[^\s]+$`)

func redactValue(value string, secret bool, lookup func(string) (string, bool)) string {
	for _, match := range reference.FindAllStringSubmatch(value, -1) {
		if name, ok := strings.CutPrefix(match[1], "env:"); ok && secret {
			if said, ok := lookup(name); ok {
				keepSecret(said)
			}
		}
	}
	filled := reference.ReplaceAllStringFunc(value, func(ref string) string {
		said, _ := lookup(strings.TrimPrefix(ref[2:len(ref)-1], "env:"))
		return said
	})
	if u, err := url.Parse(filled); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			keepSecret(password)
		}
	}
	switch {
	case secret && reference.ReplaceAllString(value, "") == "":
		return value // a variable or file name
	case secret:
		keepSecret(value)
		return hidden
	}
	return webPath.ReplaceAllString(Redact(value), "${1}"+hidden)
}
