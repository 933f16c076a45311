package mutants

// strangerMutants break what protects a service from those who may look at it, reach it or write
// its configuration.
func strangerMutants() []Mutant {
	return []Mutant{
		{
			Name: "list-takes-any-bytes", Breaks: []string{"S14"},
			Change:  "a list has as many rows as were asked for, however large they are",
			File:    "middleware/dashboard/bounds.go",
			Old:     `if size > c.left && len(l.Items) > 0 {`,
			New:     `if size > 1<<40 && len(l.Items) > 0 {`,
			Package: "middleware/dashboard", Test: "TestS14_CutListsGoOn",
		},
		{
			Name: "store-is-asked-for-all-at-once", Breaks: []string{"S14"},
			Change:  "a store is asked for ten thousand rows before anything is known of their size",
			File:    "middleware/dashboard/bounds.go",
			Old:     `n := min(step, p.limit-len(l.Items))`,
			New:     `n := p.limit - len(l.Items)`,
			Package: "middleware/dashboard", Test: "TestS14_CutListsGoOn",
		},
		{
			Name: "roles-share-turns", Breaks: []string{"S14"},
			Change:  "many viewers keep operators out",
			File:    "middleware/dashboard/bounds.go",
			Old:     `	for _, role := range []Role{RoleAdmin, RoleOperator, RolePayload} {`,
			New:     `	for _, role := range []Role{RoleAdmin} {`,
			Package: "middleware/dashboard", Test: "TestS14_EveryRoleIsBounded",
		},
		{
			Name: "redaction-enters-states-twice", Breaks: []string{"S14"},
			Change:  "** in a path doubles what every level costs",
			File:    "middleware/dashboard/redact.go",
			Old:     `	for ; r.seen[state] != r.steps; state++ {`,
			New:     `	for ; ; state++ {`,
			Package: "middleware/dashboard", Test: "TestS14_RedactionIsLinear", Hangs: true,
		},
		{
			Name: "redaction-minds-case", Breaks: []string{"S15"},
			Change:  "Password passes a rule for password",
			File:    "middleware/dashboard/redact.go",
			Old:     `!strings.EqualFold(part, name)`,
			New:     `part != name`,
			Package: "middleware/dashboard", Test: "TestS15_RedactionIgnoresCase",
		},
		{
			Name: "unreadable-queries-lose-filters", Breaks: []string{"S16"},
			Change: "a parameter that cannot be read is left out, and everything is shown",
			File:   "middleware/dashboard/params.go",
			Old: `	values, err := url.ParseQuery(raw)
	if err != nil {`,
			New: `	values, err := url.ParseQuery(raw)
	if err != nil && values == nil {`,
			Package: "middleware/dashboard", Test: "TestS16_UnreadableQueriesAreRefused",
		},
		{
			Name: "redirects-lose-the-base", Breaks: []string{"S16"},
			Change:  "a path that is not plain leads out of the dashboard",
			File:    "middleware/dashboard/dashboard.go",
			Old:     `target := d.cfg.Base + plain[1:]`,
			New:     `target := plain`,
			Package: "middleware/dashboard", Test: "TestS16_RedirectsStayBelowBase",
		},
		{
			Name: "any-host-reads-the-status", Breaks: []string{"S16"},
			Change:  "a foreign page whose name resolves to the daemon reads its status and metrics",
			File:    "cmd/leat/daemon/probes.go",
			Old:     `return err == nil || host == "localhost" ||`,
			New:     `return err == nil || host != "localhost" ||`,
			Package: "cmd/leat/daemon", Test: "TestS16_ForeignHostsReadNothing",
		},
		{
			Name: "default-redaction-is-short", Breaks: []string{"S15"},
			Change:  "a header with a JSON Web Token is shown",
			File:    "middleware/dashboard/redact.go",
			Old:     `"*jwt*", `,
			New:     ``,
			Package: "middleware/dashboard", Test: "TestS15_DefaultRedaction",
		},
		{
			Name: "smallest-duration-has-an-opposite", Breaks: []string{"S16"},
			Change:  "the command overflows its stack on a figure of a broken store",
			File:    "cmd/leat/internal/show/text.go",
			Old:     `max(-d, -(d+1))`,
			New:     `-d`,
			Package: "cmd/leat/internal/show", Test: "TestDuration",
		},
		{
			Name: "data-source-names-are-no-addresses", Breaks: []string{"S15"},
			Change:  "the password of a driver's data source name stands in errors",
			File:    "cmd/leat/internal/settings/redact.go",
			Old:     "		regexp.MustCompile(`([^:/?#@\\s]*):[^/\\s]\\S*@`),\n",
			New:     "",
			Package: "cmd/leat/internal/settings", Test: "TestS15_Redact",
		},
		{
			Name: "values-of-files-are-shown", Breaks: []string{"S15"},
			Change:  "what ${file:PATH} has read stands in errors",
			File:    "cmd/leat/internal/settings/text.go",
			Old:     `			keepSecret(value)`,
			New:     `			_ = value`,
			Package: "cmd/leat", Test: "TestS15_ValuesOfFilesAreNotShown",
		},
		{
			Name: "aliases-count-once", Breaks: []string{"S14"},
			Change:  "a few lines of aliases in a configuration take all memory",
			File:    "cmd/leat/internal/settings/decode.go",
			Old:     `	d.left -= n`,
			New:     `	d.left -= min(n, 0)`,
			Package: "cmd/leat", Test: "TestS14_AliasBomb", Hangs: true,
		},
		{
			Name: "sql-lock-rows-are-the-lockers", Breaks: []string{"S17"},
			Change:  "who locks rows on MySQL needs the right to change which locks there are",
			File:    "outbox/sqloutbox/migrations/mysql/00001_init.sql",
			Old:     `taken  TINYINT`,
			New:     `given  TINYINT`,
			Package: "internal/proof/sqltest/sqloutbox", Test: "TestS17_NumbersAndLocksAreNotAProducers", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-floors-are-the-lockers", Breaks: []string{"S17"},
			Change:  "who claims on MySQL needs the right to raise the floor",
			File:    "inbox/sqlinbox/migrations/mysql/00001_init.sql",
			Old:     `taken TINYINT`,
			New:     `given TINYINT`,
			Package: "internal/proof/sqltest/sqlinbox", Test: "TestS17_NumbersAndLocksAreNotAConsumers", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-enqueue-numbers-its-row", Breaks: []string{"S17"},
			Change: "Enqueue needs the right to choose its number",
			File:   "outbox/sqloutbox/sql/enqueue_keyed.sql",
			Old: `INSERT INTO @{} (shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
SELECT ?,`,
			New: `INSERT INTO @{} (seq, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
SELECT NULL, ?,`,
			Package: "internal/proof/sqltest/sqloutbox", Test: "TestGrantsAreEnough", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-traces-have-no-end", Breaks: []string{"S14"},
			Change:  "an id that all messages have reads the log into memory",
			File:    "outbox/sqloutbox/search.go",
			Old:     `trace.Most-len(all))`,
			New:     `1<<30)`,
			Package: "internal/proof/sqltest/sqloutbox", Test: onMariaDB + "Admin_TraceIsBounded", Needs: MariaDB,
		},
	}
}
