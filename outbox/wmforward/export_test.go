package wmforward

// SetMostPlaces bounds the list of a window's rows.
func (s *Source) SetMostPlaces(n int) { s.most = n }

// Statement returns the SQL that is called name.
func (s *Source) Statement(name string) string {
	return map[string]string{"list": s.sql.list, "page": s.sql.page, "probe": s.sql.probe, "safe": s.sql.safe}[name]
}

// Settings are those of a relay's connections.
const Settings = settings

const HeaderMalformed = headerMalformed

var (
	ErrMalformed         = errMalformed
	ErrNothingToHandBack = errNothingToHandBack
	ErrRecordsHeld       = errRecordsHeld
	ErrForwarderRunning  = errForwarderRunning
)
