package handbook

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// mapHead is the heading of the part of the page with the map.
const mapHead = "## The map"

// checkMap compares the map with the existing packages. The first cell of a row names packages. The files
// that the row names belong to the first of these.
func checkMap(src *sources) []string {
	var wrong []string
	listed := map[string]int{}
	for _, row := range mapRows(src.pages[mapPage]) {
		for _, dir := range spans(row.cells[0]) {
			if _, ok := src.packages[dir]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s is no package", mapPage, row.line, dir))
			}
			listed[dir]++
		}
		wrong = append(wrong, row.check(src)...)
	}
	for _, dir := range slices.Sorted(maps.Keys(src.packages)) {
		switch n := listed[dir]; {
		case n == 0:
			wrong = append(wrong, fmt.Sprintf("%s: package %s is not in the map", mapPage, dir))
		case n > 1:
			wrong = append(wrong, fmt.Sprintf("%s: package %s is in the map %d times", mapPage, dir, n))
		}
	}
	return wrong
}

// mapRow is a row of a table of the map.
type mapRow struct {
	line  int
	cells []string
}

// mapRows returns the rows whose first cell begins with code.
func mapRows(page string) []mapRow {
	var rows []mapRow
	in := false
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "## ") {
			in = line == mapHead
		}
		if in && strings.HasPrefix(line, "| `") {
			rows = append(rows, mapRow{i + 1, strings.Split(strings.Trim(line, "| "), " | ")})
		}
	}
	return rows
}

// check looks for the files that the row names without a directory, and for the parts that a row must
// have.
func (r mapRow) check(src *sources) []string {
	var wrong []string
	dirs := spans(r.cells[0])
	start := r.cells[len(r.cells)-1]
	if len(r.cells) != 4 || len(spans(start)) == 0 {
		return []string{fmt.Sprintf("%s:%d: a row has four cells: the package, what for, what it may import, where to start", mapPage, r.line)}
	}
	for _, name := range spans(start) {
		if path.Ext(name) == "" || strings.HasSuffix(name, "()") {
			continue
		}
		if _, ok := src.paths[path.Join(dirs[0], name)]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s has no %s", mapPage, r.line, dirs[0], name))
		}
	}
	return wrong
}
