package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// File is a configuration file.
type File struct {
	// Settings are for all profiles.
	Settings `yaml:",inline"`
	// Profiles replace settings, by their names.
	Profiles map[string]Settings `yaml:"profiles" doc:"Settings by name, chosen by --profile; what a profile does not say is said above."`

	path string
}

// Finding is something wrong with a file. Line is 0 if it is about the file as a whole.
type Finding struct {
	Line int
	Text string
}

// InvalidError is the error of a file with findings.
type InvalidError struct {
	Path     string
	Findings []Finding
}

// Error returns all findings, one a line.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		texts[i] = f.in(e.Path)
	}
	return strings.Join(texts, "\n")
}

func (f Finding) in(path string) string {
	if f.Line == 0 {
		return path + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", path, f.Line, f.Text)
}

// Read returns the file at path. What is wrong with its form is an *InvalidError.
func Read(path string) (*File, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	file := &File{path: path}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(file); err != nil && !errors.Is(err, io.EOF) {
		return nil, &InvalidError{Path: path, Findings: formFindings(err)}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &InvalidError{Path: path, Findings: []Finding{{Text: "must be one document"}}}
	}
	return file, nil
}

var (
	atLine       = regexp.MustCompile(`(?s)^(?:yaml: )?line (\d+): (.*)$`)
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
	wrongType    = regexp.MustCompile(`^cannot unmarshal (.*) into \S*\.?\S+$`)
)

// formFindings says what the decoder has found in the words of the file.
func formFindings(err error) []Finding {
	texts := []string{err.Error()}
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = several.Errors
	}
	findings := make([]Finding, len(texts))
	for i, text := range texts {
		findings[i].Text = text
		if match := atLine.FindStringSubmatch(text); match != nil {
			_, _ = fmt.Sscan(match[1], &findings[i].Line)
			findings[i].Text = match[2]
		}
		findings[i].Text = unknownField.ReplaceAllString(findings[i].Text, `unknown field "$1"`)
		findings[i].Text = wrongType.ReplaceAllString(findings[i].Text, `$1 is not what belongs here`)
	}
	return findings
}

// ProfileNames are the names of the profiles, ascending.
func (f *File) ProfileNames() []string {
	return slices.Sorted(maps.Keys(f.Profiles))
}

// Profile returns the settings of a profile, or those for all if name is empty, with
// what they refer to filled in.
func (f *File) Profile(name string, lookup func(string) (string, bool)) (Settings, error) {
	s := f.Settings
	if name != "" {
		profile, ok := f.Profiles[name]
		if !ok {
			return Settings{}, &InvalidError{Path: f.path, Findings: []Finding{{Text: fmt.Sprintf("has no profile %q, but %q", name, f.ProfileNames())}}}
		}
		s = profile.Or(f.Settings)
	}
	var findings []Finding
	for _, field := range fields(&s) {
		resolved, err := field.text.resolve(lookup)
		if err != nil {
			findings = append(findings, Finding{Line: field.text.line, Text: fmt.Sprintf("%s: %v", field.name, err)})
		}
		if resolved.Set() {
			resolved.From = fmt.Sprintf("%s:%d", f.path, field.text.line)
		}
		*field.text = resolved
	}
	if len(findings) > 0 {
		return Settings{}, &InvalidError{Path: f.path, Findings: findings}
	}
	return s, nil
}
