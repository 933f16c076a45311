package handbook

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// heading matches the heading of a numbered topic or decision.
var heading = regexp.MustCompile(`^(##|###) ([0-9]+)(?:\.([0-9]+))?\.? `)

// checkDecisions checks that topics and decisions are numbered in order, and that cited ones exist.
func checkDecisions(src *sources) []string {
	var wrong []string
	there := map[string]struct{}{}
	topic, last := 0, 0
	for i, line := range strings.Split(src.pages[designPage], "\n") {
		found := heading.FindStringSubmatch(line)
		if found == nil {
			if strings.HasPrefix(line, "### ") {
				wrong = append(wrong, fmt.Sprintf("%s:%d: a decision without a number", designPage, i+1))
			}
			continue
		}
		if found[1] == "##" {
			topic, last = topic+1, 0
		} else {
			last++
		}
		want := strconv.Itoa(topic)
		if found[1] == "###" {
			want += "." + strconv.Itoa(last)
			there[want] = struct{}{}
		}
		if got := strings.TrimSuffix(found[2]+"."+found[3], "."); got != want {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s stands where %s is due", designPage, i+1, got, want))
		}
	}
	for _, c := range src.cited {
		if !number.MatchString(c.name) {
			continue
		}
		if _, ok := there[c.name]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %s has no decision %s", c.file, designPage, c.name))
		}
	}
	return wrong
}
