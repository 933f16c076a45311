package open

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
)

// Role is a role of the database, and its use, which is one of Uses.
type Role struct{ Name, Use string }

// roles returns a check for each role.
func (x examination) roles() []doctor.Check {
	var all []doctor.Check
	for _, role := range x.Roles {
		all = append(all, doctor.Check{
			Name: "roles." + role.Name,
			Run:  func(ctx context.Context) ([]doctor.Finding, error) { return x.role(ctx, role) },
		})
	}
	return all
}

// missing are rights that a role lacks.
type missing struct {
	right

	on   string // the object, as GRANT names it
	with string // the options of a membership
}

func (x examination) role(ctx context.Context, role Role) ([]doctor.Finding, error) {
	var there bool
	if err := x.Pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", role.Name).Scan(&there); err != nil {
		return nil, err
	}
	if !there {
		return []doctor.Finding{{Verdict: doctor.Fail, Text: fmt.Sprintf("there is no role %q", role.Name), Advice: "CREATE ROLE, or name another one"}}, nil
	}
	needs := x.needs(role.Use)
	kinds, names, privileges, columns := make([]string, len(needs)), make([]string, len(needs)), make([]string, len(needs)), make([]string, len(needs))
	for i, n := range needs {
		kinds[i], names[i], privileges[i], columns[i] = n.kind, n.name, n.privilege, n.column
	}
	var lacks []missing
	var unknown []string
	rows, err := x.Pool.Query(ctx, x.sql["rights"], role.Name, x.target.Schema, kinds, names, privileges, columns)
	if err != nil {
		return nil, err
	}
	var n int
	var on *string
	var has *bool
	var with string
	_, err = pgx.ForEachRow(rows, []any{&n, &on, &has, &with}, func() error {
		switch {
		case on == nil || has == nil:
			unknown = append(unknown, needs[n-1].name)
		case !*has:
			lacks = append(lacks, missing{needs[n-1], *on, with})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x.lacking(role, lacks, slices.Compact(unknown)), nil
}

// lacking reports the rights that a role lacks, with the statements that grant them.
func (x examination) lacking(role Role, lacks []missing, unknown []string) (all []doctor.Finding) {
	if len(unknown) > 0 {
		all = append(all, doctor.Finding{
			Verdict: doctor.Unknown, Text: fmt.Sprintf("role %s as %s: not there: %s", role.Name, role.Use, strings.Join(unknown, ", ")),
			Advice: "leat migrate up, or name the tables with --schema, --outbox, --inbox",
		})
	}
	to := " TO " + pgx.Identifier{role.Name}.Sanitize()
	for len(lacks) > 0 {
		first := lacks[0]
		var privileges, columns []string
		rest := lacks[:0:0]
		for _, m := range lacks {
			switch {
			case m.kind != first.kind || m.on != first.on || m.kind == "column" && m.privilege != first.privilege:
				rest = append(rest, m)
			case m.kind == "column":
				columns = append(columns, m.column)
			default:
				privileges = append(privileges, m.privilege)
			}
		}
		lacks = rest
		grantee := to
		if first.kind == "owner's schema" {
			grantee = "" // which is the owner
		}
		all = append(all, doctor.Finding{
			Verdict: doctor.Fail, Text: fmt.Sprintf("role %s cannot be %s: it lacks %s", role.Name, role.Use, first.what(privileges, columns)),
			Advice: "GRANT " + first.what(privileges, columns) + grantee + first.with,
		})
	}
	return all
}

// what returns the rights as GRANT spells them.
func (m missing) what(privileges, columns []string) string {
	list := strings.Join(privileges, ", ")
	switch m.kind {
	case "owner":
		return m.on
	case "owner's schema":
		return "CREATE ON SCHEMA " + m.on
	case "column":
		return fmt.Sprintf("%s (%s) ON %s", m.privilege, strings.Join(columns, ", "), m.on)
	case "table":
		return list + " ON " + m.on
	default:
		return list + " ON " + strings.ToUpper(m.kind) + " " + m.on
	}
}
