package handbook

import (
	"io/fs"
	"path"
	"strings"
	"unicode"
)

// startPage is the page where readers of the documentation begin.
const startPage = "docs/README.md"

// Shelves contains the number of words of each page for users and for maintainers. Blocks of code, targets
// of links and the bars of tables do not count.
type Shelves struct {
	Users, Maintainers map[string]int
}

// Sum returns the number of words on a shelf.
func Sum(shelf map[string]int) (n int) {
	for _, words := range shelf {
		n += words
	}
	return n
}

// ReadShelves counts the words of README.md and of all pages in docs/.
func ReadShelves(tree fs.FS) (Shelves, error) {
	s := Shelves{Users: map[string]int{}, Maintainers: map[string]int{}}
	pages, err := readPages(tree)
	for name, text := range pages {
		shelf := s.Users
		if isInternal(name) {
			shelf = s.Maintainers
		}
		shelf[name] = words(text)
	}
	return s, err
}

// isInternal reports whether a page is for maintainers.
func isInternal(page string) bool {
	return strings.HasPrefix(page, "docs/internals/") || page == mapPage
}

// readPages returns the texts of README.md and of the pages in docs/ by their paths.
func readPages(tree fs.FS) (map[string]string, error) {
	pages := map[string]string{}
	read := func(name string) error {
		text, err := fs.ReadFile(tree, name)
		pages[name] = string(text)
		return err
	}
	if err := read("README.md"); err != nil {
		return nil, err
	}
	return pages, fs.WalkDir(tree, "docs", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		return read(name)
	})
}

// words returns the number of words of a page.
func words(page string) (n int) {
	text := link.ReplaceAllString(strings.Join(Prose(page), "\n"), "]")
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}
