package handbook

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Prose returns the lines of a page that are not in a block of code.
func Prose(page string) []string {
	var lines []string
	inside := false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			inside = !inside
		case !inside:
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// Links returns the targets of a page's links that are not on the web.
func Links(page string) []string {
	var targets []string
	for _, found := range link.FindAllStringSubmatch(strings.Join(Prose(page), "\n"), -1) {
		if !strings.Contains(found[1], "://") {
			targets = append(targets, found[1])
		}
	}
	return targets
}

// Anchors returns the names of a page's headings in links, as GitHub makes them.
func Anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, line := range Prose(page) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, strings.TrimSpace(title))
		for once, n := name, 1; found[name]; n++ {
			name = once + "-" + strconv.Itoa(n)
		}
		found[name] = true
	}
	return found
}
