package handbook

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ruleRow matches the row of a table that defines a rule. The row begins with the rule's name.
var ruleRow = regexp.MustCompile(`(?m)^\| \*\*([A-Z][0-9]{1,2}[a-z]?)\*\* \|(.*)\|$`)

// checkRules compares the cited rules with those that docs/internals/rules.md defines, and the
// promises of the pages for users with both.
func checkRules(src *sources) []string {
	var wrong []string
	defined := map[string]bool{} // by rule, whether it is cited
	for _, row := range ruleRow.FindAllStringSubmatch(src.pages[rulesPage], -1) {
		name, cells := row[1], strings.Split(row[2], " | ")
		if _, twice := defined[name]; twice {
			wrong = append(wrong, fmt.Sprintf("%s: %s is defined twice", rulesPage, name))
		}
		if len(cells) != 3 || slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) == "" }) {
			wrong = append(wrong, fmt.Sprintf("%s: %s needs a sentence, a source and where it is checked", rulesPage, name))
		}
		defined[name] = false
	}
	for _, c := range src.cited {
		if !onlyRule.MatchString(c.name) {
			continue
		}
		if _, ok := defined[c.name]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %s is not defined in %s", c.file, c.name, rulesPage))
			continue
		}
		defined[c.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		if !defined[name] {
			wrong = append(wrong, fmt.Sprintf("%s: nothing cites %s", rulesPage, name))
		}
	}
	for _, page := range slices.Sorted(maps.Keys(src.pages)) {
		for _, row := range ruleRow.FindAllStringSubmatch(src.pages[page], -1) {
			if _, ok := defined[row[1]]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s: %s is not defined in %s", page, row[1], rulesPage))
			}
		}
	}
	return wrong
}
