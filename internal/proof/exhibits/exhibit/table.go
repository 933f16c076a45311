package exhibit

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the findings to w, a line each.
func Table(w io.Writer, findings []Finding) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "exhibit\tcase\tincumbent\tleat\tverdict\n")
	for _, f := range findings {
		verdict := "as expected"
		if f.Err() != nil {
			verdict = "UNEXPECTED"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", f.Exhibit, f.Case, f.Incumbent, f.Leat, verdict)
	}
	return t.Flush()
}
