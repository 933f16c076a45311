package handbook

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Clicks returns how many clicks lead from the start of the documentation to an answer, such as
// docs/faq.md#which-id-does-a-message-get. A link is one click. A heading to which no link leads is one
// click further than its page, by the page's table of contents.
func Clicks(tree fs.FS, answer string) (int, error) {
	pages, err := readPages(tree)
	if err != nil {
		return 0, err
	}
	page, heading, _ := strings.Cut(answer, "#")
	if heading != "" && !Anchors(pages[page])[heading] {
		return 0, fmt.Errorf("%s has no heading #%s", page, heading)
	}
	far := map[string]int{startPage: 0}
	for todo := []string{startPage}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		for _, target := range Links(pages[at]) {
			to, below, _ := strings.Cut(target, "#")
			full := at
			if to != "" {
				full = path.Join(path.Dir(at), to)
			}
			_, known := far[full]
			if _, ours := pages[full]; ours && !known {
				far[full] = far[at] + 1
				todo = append(todo, full)
			}
			if exact := full + "#" + below; below != "" {
				if _, known := far[exact]; !known {
					far[exact] = far[at] + 1
				}
			}
		}
	}
	clicks, ok := far[answer]
	if above, there := far[page]; there && (!ok || clicks > above+1) {
		clicks, ok = above, true
		if heading != "" {
			clicks++
		}
	}
	if !ok {
		return 0, fmt.Errorf("no link leads to %s", answer)
	}
	return clicks, nil
}
