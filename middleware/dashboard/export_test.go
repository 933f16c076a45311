package dashboard

// RouteOf is a route for tests.
type RouteOf struct {
	Pattern string
	Role    Role
}

// Routes are all routes of d.
func (d *Dashboard) Routes() (all []RouteOf) {
	for _, r := range d.routes() {
		all = append(all, RouteOf{r.pattern, r.role})
	}
	return all
}

// Indent, OpenAPI and Vendored are for tests.
var (
	Indent   = indent
	Holder   = holder
	Duration = duration
	OpenAPI  = openAPI
	Vendored = staticFiles
)

// JSON redacts body.
func (r *Redaction) JSON(body []byte) ([]byte, error) { return r.json(body) }
