package settings

import "regexp"

// hidden stands for a secret.
const hidden = "***"

var (
	// isURL is for a text that is a URL, inURL for those within a text. A password that was
	// not escaped may have anything in it, but within a text no space.
	isURL   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*://[^:/?#@]*):.*@`)
	inURL   = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^:/?#@\s]*):\S*@`)
	inWords = regexp.MustCompile(`(?i)\b((?:ssl)?password)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]*)`)
)

// Redact returns address, a URL, keywords and values, or a text with either in it, without
// its passwords. Of a URL that is none it hides rather too much.
func Redact(address string) string {
	for _, url := range []*regexp.Regexp{isURL, inURL} {
		address = url.ReplaceAllString(address, "$1:"+hidden+"@")
	}
	return inWords.ReplaceAllString(address, "$1="+hidden)
}

// HasPassword reports whether address, a URL or keywords and values, has a password in it.
func HasPassword(address string) bool {
	return isURL.MatchString(address) || inURL.MatchString(address) || inWords.MatchString(address)
}

// Redacted returns s without its secrets.
func (s Settings) Redacted() Settings {
	s.Database.Value = Redact(s.Database.Value)
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
