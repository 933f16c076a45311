package handbook

import (
	"regexp"
	"strings"
)

var (
	// ruleName matches a rule in a text, such as R3a or O15.
	ruleName = regexp.MustCompile(`\b[A-Z][0-9]{1,2}[a-z]?\b`)
	// onlyRule matches a part of a test's name that is a rule.
	onlyRule = regexp.MustCompile(`^[A-Z][0-9]{1,2}[a-z]?$`)
	// decisions matches citations of the design, such as "design 2.7" or "Decisions 2.1 to 2.5, 8.2".
	decisions = regexp.MustCompile(`(?i)\b(?:design|decisions?)\s+([0-9]+\.[0-9]+(?:(?:,\s+|\s+and\s+|\s+to\s+)[0-9]+\.[0-9]+)*)`)
	number    = regexp.MustCompile(`[0-9]+\.[0-9]+`)
)

// noRule reports whether a word that looks like a rule is something else: a percentile, or a value in a
// proof.
func noRule(word string) bool {
	switch word {
	case "P50", "P99", "F0", "F1":
		return true
	default:
		return false
	}
}

// cite records the rules and the decisions that a comment names.
func (s *sources) cite(file, comment string) {
	for _, name := range ruleName.FindAllString(comment, -1) {
		if !noRule(name) {
			s.cited = append(s.cited, citation{file, name})
		}
	}
	s.citeDecisions(file, comment)
}

// citeNames records the rules in the name of a test or of a check, such as O2 and O5 in
// O2_O5_FleetUnderFire.
func (s *sources) citeNames(file, name string) {
	for part := range strings.SplitSeq(name, "_") {
		if onlyRule.MatchString(part) {
			s.cited = append(s.cited, citation{file, part})
		}
	}
}

func (s *sources) citeDecisions(file, text string) {
	for _, found := range decisions.FindAllStringSubmatch(text, -1) {
		for _, name := range number.FindAllString(found[1], -1) {
			s.cited = append(s.cited, citation{file, name})
		}
	}
}
