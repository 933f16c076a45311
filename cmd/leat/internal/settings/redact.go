package settings

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// hidden replaces a secret.
const hidden = "***"

var (
	// addresses match a text that is a URL or a driver's data source name, and URLs and data source names
	// inside a text. An unescaped password may contain anything, but inside a text it ends at a space. An
	// incomplete URL may lack a slash; a data source name has no scheme.
	addresses = [...]*regexp.Regexp{ //nolint:gochecknoglobals // constants
		regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:/{1,3}[^:/?#@]*):.*@`),
		regexp.MustCompile(`^([^:/?#@\s]*):(?:[^:\s]|:\S)(?:[^:]|:\S)*@((?:\w*\([^)]*\))?/)`),
		regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*:/{1,3}[^:/?#@\s]*):\S*@`),
		regexp.MustCompile(`([^:/?#@\s]*):\S*@(\w*\()`),
		regexp.MustCompile(`([^:/?#@\s]*):[^/\s]\S*@`),
	}
	// inWords matches keywords and values, including parameters of a URL.
	inWords = regexp.MustCompile(`(?i)((?:\b|_|-)(?:ssl)?(?:password|passwd|passphrase|pwd|secret|token))\s*=\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s&]*)`)
)

// files are the values that were read from files by ${file:PATH}. They are secrets wherever they are used.
// They are global to the process, since an error can come from anywhere.
var files struct { //nolint:gochecknoglobals // see above
	mu     sync.Mutex
	values []string
}

// leastSecret is the least length of a value of a file that is searched for in texts: shorter values occur
// in ordinary words.
const leastSecret = 5

// keepSecret records a value that was read from a file, in all forms that can occur in an error.
func keepSecret(value string) {
	quoted := strconv.Quote(value)
	files.mu.Lock()
	defer files.mu.Unlock()
	for _, form := range []string{value, quoted[1 : len(quoted)-1], url.QueryEscape(value), url.PathEscape(value), url.UserPassword("", value).String()[1:]} {
		if len(form) >= leastSecret && !slices.Contains(files.values, form) {
			files.values = append(files.values, form)
		}
	}
	slices.SortFunc(files.values, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // a value can contain another one
}

// hideFiles returns text without values that were read from files.
func hideFiles(text string) string {
	files.mu.Lock()
	defer files.mu.Unlock()
	for _, value := range files.values {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return text
}

// Redact returns address without its passwords, and without values read by ${file:PATH}. address is a URL,
// a data source name, keywords and values, or a text that contains one of them. If it is not a valid URL,
// Redact hides too much rather than too little.
func Redact(address string) string {
	address = hideFiles(address)
	for _, form := range addresses {
		address = form.ReplaceAllString(address, "${1}:"+hidden+"@${2}")
	}
	return inWords.ReplaceAllString(address, "$1="+hidden)
}

// HasPassword reports whether address, a URL, a data source name or keywords and values, contains a
// password.
func HasPassword(address string) bool {
	return inWords.MatchString(address) || slices.ContainsFunc(addresses[:], func(form *regexp.Regexp) bool { return form.MatchString(address) })
}

// Redacted returns s without its secrets. A value that was read from a file is shown as its reference.
func (s Settings) Redacted() Settings {
	for _, field := range fields(&s) {
		if field.text.said != "" {
			field.text.Value = field.text.said
		}
		field.text.Value = Redact(field.text.Value)
	}
	if s.Kafka.Password.Set() {
		s.Kafka.Password.Value = hidden
	}
	return s
}

// Shown is a setting in the form that operators see.
type Shown struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Show returns the settings of s, redacted, with their names in the file.
func (s Settings) Show() []Shown {
	s = s.Redacted()
	var all []Shown
	for _, field := range fields(&s) {
		if field.text.Set() {
			all = append(all, Shown{field.name, field.text.Value, field.text.From})
		}
	}
	return all
}
