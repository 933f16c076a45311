package pgoutbox

import "fmt"

// delayedStatements are the rendered SQL of delayed messages.
type delayedStatements struct {
	enqueue                   string
	due, locks, promote, next string
	list, cancel              string
}

func renderDelayed(cfg Config) (delayedStatements, error) {
	var s delayedStatements
	err := renderNamed(cfg, map[string]*string{
		"enqueue_delayed": &s.enqueue,
		"delayed_due":     &s.due,
		"delayed_locks":   &s.locks,
		"delayed_promote": &s.promote,
		"delayed_next":    &s.next,
		"delayed_list":    &s.list,
		"delayed_cancel":  &s.cancel,
	})
	return s, err
}

// renderNamed renders the files of sql/ that are named.
func renderNamed(cfg Config, files map[string]*string) error {
	for name, to := range files {
		raw, err := sqlFiles.ReadFile("sql/" + name + ".sql")
		if err != nil {
			return fmt.Errorf("leat: statement %s: %w", name, err)
		}
		if *to, err = cfg.names().Render(string(raw)); err != nil {
			return err
		}
	}
	return nil
}
