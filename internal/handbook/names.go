package handbook

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	span     = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`^(Test[A-Z][A-Za-z0-9_]*|(Relay_)?([A-Z][0-9]{1,2}_)+[A-Za-z0-9]+)$`)
	funcName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)\(\)$`)
	makeName = regexp.MustCompile(`^make ([a-z][a-z-]*)`)
)

// spans returns the texts between backticks.
func spans(text string) (all []string) {
	for _, found := range span.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// checkNames looks for everything that the pages name in code: paths, functions, tests and targets.
func checkNames(src *sources) []string {
	var wrong []string
	for _, page := range []string{mapPage, rulesPage, designPage, entryPage} {
		fenced, file := false, "" // the file that the paragraph or the row has named last
		for i, line := range strings.Split(src.pages[page], "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if line == "" || strings.HasPrefix(line, "|") {
				file = ""
			}
			if fenced {
				continue
			}
			for _, name := range spans(line) {
				if path.Ext(name) == ".go" && src.isOurs(name) {
					file = name
				}
				for _, what := range src.missing(file, name) {
					wrong = append(wrong, fmt.Sprintf("%s:%d: %s", page, i+1, what))
				}
			}
		}
	}
	return wrong
}

// missing describes what is wrong with a name in code that follows the name of a file.
func (s *sources) missing(file, name string) []string {
	if found := funcName.FindStringSubmatch(name); found != nil {
		return s.missingFunc(file, found[1])
	}
	if found := makeName.FindStringSubmatch(name); found != nil {
		return absent(s.targets, found[1], "make has no target ")
	}
	if testName.MatchString(name) {
		return absent(s.checks, name, "there is no test ")
	}
	if s.isOurs(name) {
		return absent(s.paths, strings.TrimSuffix(name, "/"), "there is no ")
	}
	return nil
}

// absent describes a name that is not in a set.
func absent(from map[string]struct{}, name, words string) []string {
	if _, ok := from[name]; ok {
		return nil
	}
	return []string{words + name}
}

// isOurs reports whether a word is a path below one of our directories.
func (s *sources) isOurs(word string) bool {
	top, rest, ok := strings.Cut(word, "/")
	if !ok || strings.ContainsAny(word, " *{}<>…$|\"'():") || strings.Contains(rest, "...") {
		return false
	}
	_, ours := s.paths[top]
	return ours
}

// missingFunc looks for a function in a file, or in all files if the line has named none.
func (s *sources) missingFunc(file, name string) []string {
	if slices.Contains(s.declared[file], name) {
		return nil
	}
	var others []string
	for _, other := range slices.Sorted(maps.Keys(s.declared)) {
		if slices.Contains(s.declared[other], name) {
			others = append(others, other)
		}
	}
	switch {
	case file == "" && len(others) > 0:
		return nil
	case len(others) == 0:
		return []string{"there is no function " + name}
	default:
		return []string{fmt.Sprintf("%s does not declare %s; %s does", file, name, strings.Join(others, ", "))}
	}
}
