package handbook

import (
	"fmt"
	"io/fs"
)

// Paths of the checked pages, from the root.
const (
	mapPage    = "docs/maintaining.md"
	rulesPage  = "docs/internals/rules.md"
	designPage = "docs/internals/design.md"
	entryPage  = "CONTRIBUTING.md"
)

// Check returns the contradictions between the pages and the sources of a tree, one finding per string. An
// error means that the tree cannot be read.
func Check(tree fs.FS) ([]string, error) {
	src, err := read(tree)
	if err != nil {
		return nil, err
	}
	for _, page := range []string{mapPage, rulesPage, designPage, entryPage} {
		if _, ok := src.pages[page]; !ok {
			return nil, fmt.Errorf("handbook: %w: %s", fs.ErrNotExist, page)
		}
	}
	var wrong []string
	for _, check := range []func(*sources) []string{checkMap, checkNames, checkRules, checkDecisions} {
		wrong = append(wrong, check(src)...)
	}
	return wrong, nil
}
