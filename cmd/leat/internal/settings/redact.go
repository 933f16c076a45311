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

// hidden stands for a secret.
const hidden = "***"

var (
	// addresses are for a text that is a URL or a data source name of a driver, and for those within
	// a text. A password that was not escaped may have anything in it, but within a text no space. What
	// was meant for a URL may lack a slash; a data source name has no scheme.
	addresses = [...]*regexp.Regexp{ //nolint:gochecknoglobals // constants
		regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:/{1,3}[^:/?#@]*):.*@`),
		regexp.MustCompile(`^([^:/?#@\s]*):(?:[^:\s]|:\S)(?:[^:]|:\S)*@((?:\w*\([^)]*\))?/)`),
		regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*:/{1,3}[^:/?#@\s]*):\S*@`),
		regexp.MustCompile(`([^:/?#@\s]*):\S*@(\w*\()`),
		regexp.MustCompile(`([^:/?#@\s]*):[^/\s]\S*@`),
	}
	// inWords is for keywords and values, also as parameters of a URL.
	inWords = regexp.MustCompile(`(?i)((?:\b|_|-)(?:ssl)?(?:password|passwd|passphrase|pwd|secret|token))\s*=\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s&]*)`)
)

// files are the values that were read from files by ${file:PATH}, which are secrets whatever
// they stand in. They are those of the process: an error can come from anywhere.
var files struct { //nolint:gochecknoglobals // see above
	mu     sync.Mutex
	values []string
}

// leastSecret is the length from which a value of a file is looked for in texts: shorter ones
// are in every word.
const leastSecret = 5

// keepSecret notes a value that was read from a file, in the forms in which an error can have it.
func keepSecret(value string) {
	quoted := strconv.Quote(value)
	files.mu.Lock()
	defer files.mu.Unlock()
	for _, form := range []string{value, quoted[1 : len(quoted)-1], url.QueryEscape(value), url.PathEscape(value), url.UserPassword("", value).String()[1:]} {
		if len(form) >= leastSecret && !slices.Contains(files.values, form) {
			files.values = append(files.values, form)
		}
	}
	slices.SortFunc(files.values, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one can have another in it
}

// hideFiles returns text without the values of files.
func hideFiles(text string) string {
	files.mu.Lock()
	defer files.mu.Unlock()
	for _, value := range files.values {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return text
}

// Redact returns address, a URL, a data source name, keywords and values, or a text with one of
// them in it, without its passwords, and without what ${file:PATH} has read. It hides too
// much, rather than too little, of a text that is not a valid URL.
func Redact(address string) string {
	address = hideFiles(address)
	for _, form := range addresses {
		address = form.ReplaceAllString(address, "${1}:"+hidden+"@${2}")
	}
	return inWords.ReplaceAllString(address, "$1="+hidden)
}

// HasPassword reports whether address, a URL, a data source name or keywords and values, has a
// password in it.
func HasPassword(address string) bool {
	return inWords.MatchString(address) || slices.ContainsFunc(addresses[:], func(form *regexp.Regexp) bool { return form.MatchString(address) })
}

// Redacted returns s without its secrets. What was read from a file is shown by its name.
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

// Shown is a setting for operators to read.
type Shown struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Show returns what s says, redacted, by the names that the file has for it.
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
