package httpdedupe

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// headerKey is the header that carries the key.
const headerKey = "Idempotency-Key"

// errKey is the error for an invalid key; its text goes to the client.
var errKey = errors.New("the key is invalid")

// keyOf returns the key of a request, or "" if it has none. The draft requires a string of RFC
// 8941, in quotes; most clients send the key bare. Both forms are accepted, and mean the same
// key.
func keyOf(h http.Header, most int) (string, error) {
	values := h.Values(headerKey)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", fmt.Errorf("%w: the header is there %d times", errKey, len(values))
	}
	text := strings.Trim(values[0], " \t")
	key, err := text, error(nil)
	if strings.HasPrefix(text, `"`) {
		key, err = unquote(text)
	} else if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) }); i >= 0 {
		err = fmt.Errorf("%w: a key without quotes has visible ASCII characters, except quote, comma, semicolon and backslash", errKey)
	}
	switch {
	case err != nil:
		return "", err
	case key == "":
		return "", fmt.Errorf("%w: it is empty", errKey)
	case len(key) > most:
		return "", fmt.Errorf("%w: it has %d bytes, at most %d", errKey, len(key), most)
	default:
		return key, nil
	}
}

// unquote parses a string of RFC 8941, which begins with a quote.
func unquote(text string) (string, error) {
	var key strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' && i == len(text)-1:
			return key.String(), nil
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			key.WriteByte(text[i])
		case c == '"' || c == '\\' || c < ' ' || c > '~':
			return "", fmt.Errorf("%w: it is not a string of RFC 8941", errKey)
		default:
			key.WriteByte(c)
		}
	}
	return "", fmt.Errorf("%w: it has no closing quote", errKey)
}
