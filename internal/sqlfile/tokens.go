package sqlfile

import (
	"fmt"
	"strings"
)

// Replace returns sql with each token @{name} replaced by word(name). It returns an error for a
// token that word does not know, so that a misspelt one does not reach the server.
func Replace(sql string, word func(name string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(sql, "@{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		text, known := word(name)
		if !closed || !known {
			return "", fmt.Errorf("leat: unknown token @{%.40s in SQL", rest)
		}
		out.WriteString(text)
		sql = after
	}
}

// IsSuffix reports whether name is the suffix of a table's name: empty, or an underscore followed
// by lower-case letters, digits and underscores.
func IsSuffix(name string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789_"
	return name == "" || name[0] == '_' && strings.Trim(name, plain) == ""
}
