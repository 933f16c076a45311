package handbook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// phrases lists phrases that a native engineer would not write, and what to write instead.
//
//nolint:gochecknoglobals // a table
var phrases = []struct {
	hint   string // part of every match, in lower case
	what   *regexp.Regexp
	better string
}{
	{" no ", regexp.MustCompile(`(?i)\b(?:is|are|was|were) no ([a-z]+)`), "is not a …"},
	{"also if", regexp.MustCompile(`(?i)\balso if\b`), "even if"},
	{"such that", regexp.MustCompile(`(?i)\bsuch that\b`), "so that, or a sentence of its own"},
	{"but for", regexp.MustCompile(`(?i)\bbut for\b`), "except"},
	{" whether", regexp.MustCompile(`(?i)\bsays? whether\b`), "reports whether, or shows whether"},
	{"what bec", regexp.MustCompile(`(?i)\bwhat (?:becomes|became) of\b`), "what happens to"},
	{"mend", regexp.MustCompile(`(?i)\bmend(?:s|ed)?\b`), "fix"},
	{" away", regexp.MustCompile(`(?i)\b(?:is|are|was|were|be) away\b`), "is unavailable"},
}

// allowed are correct uses of "is no": words that may follow it, and phrases that may precede it.
//
//nolint:gochecknoglobals // a table
var (
	allowedAfter  = []string{"longer", "more", "less", "fewer", "better", "worse", "slower", "faster", "larger", "smaller", "older", "newer", "later", "earlier", "others", "other", "matter", "use", "such"}
	allowedBefore = regexp.MustCompile(`(?i)\bthere\W+$`)
)

// inCode matches text in backticks, which a sentence only quotes.
var inCode = regexp.MustCompile("`[^`]*`")

// English returns the phrases of a tree that a native engineer would not write, one finding per string,
// and the number of texts that it has checked: comments and strings of Go, statements in SQL, and pages.
// It does not check testdata, strings of tests, and its own package.
func English(tree fs.FS) (wrong []string, looked int, err error) {
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (isHidden(entry.Name()) || entry.Name() == "testdata" || name == "internal/handbook" || name == "site"):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		texts, err := textsOf(tree, name)
		for _, text := range texts {
			looked++
			for _, finding := range text.findings() {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s", name, text.line, finding))
			}
		}
		return err
	})
	return wrong, looked, err
}

// text is a comment, a string or a paragraph, and the line on which it begins.
type text struct {
	line int
	says string
}

func (t text) findings() (all []string) {
	says := strings.Join(strings.Fields(inCode.ReplaceAllString(t.says, "it")), " ")
	small := strings.ToLower(says)
	for _, phrase := range phrases {
		if !strings.Contains(small, phrase.hint) {
			continue
		}
		for _, at := range phrase.what.FindAllStringSubmatchIndex(says, -1) {
			if len(at) > 2 && (slices.Contains(allowedAfter, says[at[2]:at[3]]) || allowedBefore.MatchString(says[:at[0]])) {
				continue
			}
			from, to := max(0, at[0]-30), min(len(says), at[1]+30)
			all = append(all, fmt.Sprintf("%q: say %s", strings.ToValidUTF8(says[from:to], ""), phrase.better))
		}
	}
	return all
}

func textsOf(tree fs.FS, name string) ([]text, error) {
	ext := path.Ext(name)
	if !slices.Contains([]string{".go", ".sql", ".md", ".tmpl", ".html", ".yml", ".yaml"}, ext) {
		return nil, nil
	}
	raw, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	if ext == ".go" {
		return textsOfGo(name, string(raw))
	}
	var texts []text
	fenced := false
	at := text{line: 1}
	for i, line := range strings.Split(string(raw), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced || strings.TrimSpace(line) == "" || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") {
			texts = append(texts, at)
			at = text{line: i + 1}
		}
		if !fenced {
			at.says += " " + strings.TrimLeft(strings.TrimSpace(line), "-# ")
		}
	}
	return append(texts, at), nil
}

func textsOfGo(name, source string) ([]text, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []text
	for _, group := range file.Comments {
		texts = append(texts, text{files.Position(group.Pos()).Line, group.Text()})
		for _, comment := range group.List { // directives are included, which Text omits
			if _, why, ok := strings.Cut(comment.Text, "//nolint:"); ok {
				texts = append(texts, text{files.Position(comment.Pos()).Line, why})
			}
		}
	}
	if strings.HasSuffix(name, "_test.go") {
		return texts, nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			texts = append(texts, text{files.Position(literal.Pos()).Line, strings.Trim(literal.Value, "\"`")})
		}
		return true
	})
	return texts, nil
}

var (
	title = regexp.MustCompile(`^[a-z0-9.][A-Za-z0-9/_.,* -]*: ([a-z]+)\b`)
	vague = []string{"let", "have", "tell"} //nolint:gochecknoglobals // a table
)

// Title returns what is wrong with the title of a commit, or "". A title must be "package: verb what".
func Title(of string) string {
	found := title.FindStringSubmatch(of)
	switch {
	case found == nil:
		return fmt.Sprintf("%q: must be \"package: verb what\"", of)
	case slices.Contains(vague, found[1]):
		return fmt.Sprintf("%q: %q says little: name the change, such as add, fix, refuse, report", of, found[1])
	default:
		return ""
	}
}
