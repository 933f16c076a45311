package pgoutbox

// delayedStatements are the rendered SQL of delayed messages.
type delayedStatements struct {
	enqueue                   string
	due, locks, promote, next string
	list, cancel              string
}

func renderDelayed(cfg Config) (delayedStatements, error) {
	var s delayedStatements
	err := renderFiles(cfg, []sqlFile{
		{&s.enqueue, "enqueue_delayed"},
		{&s.due, "delayed_due"},
		{&s.locks, "delayed_locks"},
		{&s.promote, "delayed_promote"},
		{&s.next, "delayed_next"},
		{&s.list, "delayed_list"},
		{&s.cancel, "delayed_cancel"},
	})
	return s, err
}
