package settings

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// File is a configuration file.
type File struct {
	// Profile has the settings for all profiles.
	Profile `yaml:",inline"`
	// Profiles replace settings and sections, by profile name.
	Profiles map[string]Profile `yaml:"profiles" doc:"Settings and sections by name, chosen by --profile; what a profile does not say is said above."`

	path string
}

// Finding is an error in a file. Line is 0 if it concerns the file as a whole.
type Finding struct {
	Line int
	Text string
}

// InvalidError is the error of a file with findings.
type InvalidError struct {
	Path     string
	Findings []Finding
}

// Error returns all findings, one per line.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		texts[i] = f.in(e.Path)
	}
	return strings.Join(texts, "\n")
}

func (f Finding) in(path string) string {
	switch {
	case path == "":
		return f.Text
	case f.Line == 0:
		return path + ": " + f.Text
	default:
		return fmt.Sprintf("%s:%d: %s", path, f.Line, f.Text)
	}
}

// Read reads the file at path. Errors of its form are an *InvalidError.
func Read(path string) (*File, error) {
	from, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	content, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	if err != nil {
		return nil, err
	}
	file := &File{path: path}
	large := func(text string) error {
		return &InvalidError{Path: path, Findings: []Finding{{Text: "is too large: " + text}}}
	}
	if len(content) > mostBytes {
		return nil, large(fmt.Sprintf("it has more than %d bytes", mostBytes))
	}
	if findings := decode(bytes.NewReader(content), file); len(findings) > 0 {
		return nil, &InvalidError{Path: path, Findings: findings}
	}
	if len(file.Profiles) > mostProfiles {
		return nil, large(fmt.Sprintf("it has %d profiles, more than %d", len(file.Profiles), mostProfiles))
	}
	return file, nil
}

// mostProfiles bounds the profiles, since each one is checked.
const mostProfiles = 100

var atLine = regexp.MustCompile(`(?s)^(?:yaml: )?line (\d+): (.*)$`)

var unknownAnchor = regexp.MustCompile(`^yaml: unknown anchor '(.+)' referenced$`)

// syntax returns the finding for an error of the parser. The parser counts lines from 0 in some errors, in
// others it names the line where a text began, or no line.
func syntax(err error, content []byte) Finding {
	finding := Finding{Text: err.Error()}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	first := func(from int, is func(line string) bool) int {
		at := slices.IndexFunc(lines[min(from, len(lines)):], is)
		return from + at + 1
	}
	if match := unknownAnchor.FindStringSubmatch(finding.Text); match != nil {
		finding.Line = first(0, func(line string) bool { return strings.Contains(line, "*"+match[1]) })
		return finding
	}
	match := atLine.FindStringSubmatch(finding.Text)
	if match == nil {
		return finding
	}
	_, _ = fmt.Sscan(match[1], &finding.Line)
	finding.Text = match[2]
	switch {
	case strings.HasPrefix(finding.Text, "did not find expected"):
		finding.Line++
	case strings.HasPrefix(finding.Text, "found a tab"):
		indented := func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "\t") }
		finding.Line = max(first(finding.Line-1, indented), finding.Line)
	case finding.Line > len(lines):
		finding.Line = 1 // the text that began there has no end
	}
	return finding
}

// ProfileNames are the names of the profiles, ascending.
func (f *File) ProfileNames() []string {
	return slices.Sorted(maps.Keys(f.Profiles))
}

// profile returns the settings of a profile alone; nothing if name is empty.
func (f *File) profile(name string) (Profile, error) {
	profile, ok := f.Profiles[name]
	if name != "" && !ok {
		return Profile{}, &InvalidError{Path: f.path, Findings: []Finding{{Text: fmt.Sprintf("has no profile %q, but %q", name, f.ProfileNames())}}}
	}
	return profile, nil
}

// SettingsOf returns the settings of a profile, or the general ones if name is empty, with references
// filled in. Sections that leaveOut names stay empty, so that their secrets are not needed.
func (f *File) SettingsOf(name string, lookup func(string) (string, bool), leaveOut ...string) (Settings, error) {
	profile, err := f.profile(name)
	if err != nil {
		return Settings{}, err
	}
	s := profile.Settings.Or(f.Settings)
	var findings []Finding
	for _, field := range fields(&s) {
		if section, _, _ := strings.Cut(field.name, "."); slices.Contains(leaveOut, section) {
			*field.text = Text{}
			continue
		}
		findings = append(findings, f.resolve(field.text, field.name, lookup)...)
	}
	if len(findings) > 0 {
		return Settings{}, &InvalidError{Path: f.path, Findings: findings}
	}
	return s, nil
}

// DaemonOf returns the configuration of leat run with a profile, or without one if name is empty, with
// references filled in.
func (f *File) DaemonOf(name string, lookup func(string) (string, bool)) (Daemon, error) {
	profile, err := f.profile(name)
	if err != nil {
		return Daemon{}, err
	}
	d := profile.Daemon.Or(f.Daemon)
	d.path = f.path
	var findings []Finding
	eachText(&d, func(t *Text) { findings = append(findings, f.resolve(t, t.name, lookup)...) })
	if len(findings) > 0 {
		return Daemon{}, &InvalidError{Path: f.path, Findings: findings}
	}
	return d, nil
}

// Path is the file that d was read from, "" if there is none.
func (d Daemon) Path() string { return d.path }

func (f *File) resolve(t *Text, name string, lookup func(string) (string, bool)) []Finding {
	resolved, err := t.resolve(lookup)
	if resolved.Set() {
		resolved.From = fmt.Sprintf("%s:%d", f.path, t.line)
	}
	line := t.line
	*t = resolved
	if err != nil {
		return []Finding{{Line: line, Text: fmt.Sprintf("%s: %v", name, err)}}
	}
	return nil
}

// eachText makes a deep copy of d, and calls each for its texts.
func eachText(d *Daemon, each func(*Text)) {
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch to := v.Addr().Interface().(type) {
		case *Text:
			each(to)
			return
		case *Place:
			return
		}
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				own := reflect.New(v.Type().Elem())
				own.Elem().Set(v.Elem())
				v.Set(own)
				visit(own.Elem())
			}
		case reflect.Slice:
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.Map:
			visitMap(v, visit)
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					visit(v.Field(i))
				}
			}
		default:
		}
	}
	visit(reflect.ValueOf(d).Elem())
}

// visitMap visits the values of a map in the order of their names.
func visitMap(v reflect.Value, visit func(reflect.Value)) {
	own := reflect.MakeMap(v.Type())
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		element := reflect.New(v.Type().Elem()).Elem()
		element.Set(v.MapIndex(key))
		visit(element)
		own.SetMapIndex(key, element)
	}
	v.Set(own)
}
