package handbook

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// versionsPage is the page with the table of tiers.
const versionsPage = "docs/versions.md"

var inBackticks = regexp.MustCompile("`([^`]+)`")

// Tiers returns the packages whose comment does not end with the tier that docs/versions.md gives them,
// one finding per string, and the number of packages that it has checked. It checks those that other
// modules can import.
func Tiers(tree fs.FS) (wrong []string, looked int, err error) {
	page, err := fs.ReadFile(tree, versionsPage)
	if err != nil {
		return nil, 0, err
	}
	var stable []string
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.TrimSpace(cells[1]) == "*stable*" {
			for _, name := range inBackticks.FindAllStringSubmatch(cells[2], -1) {
				stable = append(stable, name[1])
			}
		}
	}
	err = fs.WalkDir(tree, ".", func(dir string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case dir != "." && !importable(dir):
			return fs.SkipDir
		}
		comment, name, err := packageComment(tree, dir)
		if err != nil || name == "" || name == "main" {
			return err
		}
		looked++
		tier := "young"
		if slices.Contains(stable, dir) {
			tier = "stable"
		}
		if want := "Stability: " + tier + ", see docs/versions.md."; !strings.HasSuffix(strings.TrimSpace(comment), "\n\n"+want) {
			wrong = append(wrong, fmt.Sprintf("%s: the package comment must end with the paragraph %q", dir, want))
		}
		return nil
	})
	return wrong, looked, err
}

// importable reports whether other modules can import the package in a directory.
func importable(dir string) bool {
	base := path.Base(dir)
	return !slices.Contains([]string{"examples", "benchmarks", "docs", "internal", "testdata"}, base) && !strings.HasPrefix(base, ".")
}

// packageComment returns the comment and the name of the package in a directory. The name is
// empty if the directory has no package.
func packageComment(tree fs.FS, dir string) (comment, name string, err error) {
	files, err := fs.Glob(tree, path.Join(dir, "*.go"))
	var comments strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return "", "", err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return "", "", err
		}
		comments.WriteString(parsed.Doc.Text())
		name = parsed.Name.Name
	}
	return comments.String(), name, err
}
