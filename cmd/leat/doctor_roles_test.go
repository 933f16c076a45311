package main_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// role is a new role of the database, without any right.
func (s *shop) role(t *testing.T) string {
	t.Helper()
	name := "leat test " + uuid.NewString()
	_, err := s.Pool.Exec(t.Context(), "CREATE ROLE "+quote(name))
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := s.Pool.Exec(context.Background(), "DROP OWNED BY "+quote(name)+"; DROP ROLE "+quote(name))
		require.NoError(t, err)
	})
	return name
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// granted runs what is advised for a role, and returns the statements.
func (s *shop) granted(t *testing.T, o *session, role, use string) (grants []string) {
	t.Helper()
	found, code := o.examined("--only", "roles.*", "--role", role+"="+use)
	require.Equal(t, 5, code)
	for _, f := range found {
		require.Equal(t, doctor.Fail, f.Verdict, f)
		require.Contains(t, f.Text, "cannot be "+use)
		require.True(t, strings.HasPrefix(f.Advice, "GRANT "), f)
		_, err := s.Pool.Exec(t.Context(), f.Advice)
		require.NoError(t, err, f.Advice)
		grants = append(grants, f.Advice)
	}
	return grants
}

// A role lacks what it lacks: with the grants that are printed it can do its work, and each of
// them is missed if it is taken away.
//
//leat:level 2
func TestDoctor_Roles(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.consume(t)
	o := newSession(t, s.URL)
	for _, use := range open.Uses() {
		role := s.role(t)
		grants := s.granted(t, o, role, use)
		require.Equal(t, doctor.OK, o.verdictOf(role, use).Verdict, use)
		missed := []string{grants[0], grants[len(grants)-1]}
		if strings.HasSuffix(use, "maintenance") {
			missed = missed[1:] // the owner of the tables has all other rights
		}
		for _, grant := range missed {
			revoke := strings.Replace(strings.Replace(grant, "GRANT ", "REVOKE ", 1), " TO ", " FROM ", 1)
			_, err := s.Pool.Exec(t.Context(), revoke)
			require.NoError(t, err, revoke)
			lacks := o.verdictOf(role, use)
			require.Equal(t, doctor.Fail, lacks.Verdict, "%s without %s", use, grant)
			require.Equal(t, grant, lacks.Advice)
			_, err = s.Pool.Exec(t.Context(), grant)
			require.NoError(t, err)
		}
		s.work(t, role, use)
	}
	require.Equal(t, doctor.Fail, o.verdictOf("nobody "+uuid.NewString(), "relay").Verdict)
	elsewhere, _ := o.examined("--only", "roles.*", "--schema", "elsewhere", "--role", s.role(t)+"=relay")
	require.Equal(t, doctor.Unknown, elsewhere[0].Verdict, "what is not there is not judged: %+v", elsewhere)
}

// With the grants of docs/security.md each role can do its work, and doctor agrees.
//
//leat:level 2
func TestDoctor_GrantsOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(page), "## Privileges\n")
	require.True(t, ok)
	text, _, ok = strings.Cut(text, "### Who may lock")
	require.True(t, ok)
	var names []string
	roles, uses := map[string]string{}, map[string][]string{
		"producer": {"delaying-producer"}, "relay": {"relay"}, "maintenance": {"maintenance-without-ddl", "audit-pruning"}, "viewer": nil,
		"consumer": {"consumer", "trying-consumer", "parking-consumer", "noting-consumer", "marking-consumer", "position-consumer"},
	}
	s := newShop(t)
	s.consume(t)
	for name := range uses {
		roles[name] = s.role(t)
		names = append(names, " TO "+name+";", " TO "+quote(roles[name])+";")
		_, err := s.Pool.Exec(t.Context(), "GRANT USAGE ON SCHEMA leat TO "+quote(roles[name]))
		require.NoError(t, err)
	}
	blocks := strings.Split(text, "```sql\n")[1:]
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		_, err := s.Pool.Exec(t.Context(), strings.NewReplacer(names...).Replace(block))
		require.NoError(t, err)
	}
	_, err = s.Pool.Exec(t.Context(), "GRANT "+quote(roles["relay"])+" TO "+quote(roles["maintenance"])) // "a relay's grants, and"
	require.NoError(t, err)
	o := newSession(t, s.URL)
	for name, all := range uses {
		for _, use := range all {
			found := o.verdictOf(roles[name], use)
			require.Equal(t, doctor.OK, found.Verdict, "%s: %+v", use, found)
			s.work(t, roles[name], use)
		}
	}
	s.look(t, roles["viewer"], "audit", "inbox parked list")
}

// A membership in the owner that does not let SET ROLE cannot give it partitions, and an owner that
// may not make tables in the schema cannot be given any.
func TestDoctor_Membership(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := newSession(t, s.URL)
	role, owner := s.role(t), s.role(t)
	s.granted(t, o, role, "maintenance")
	_, err := s.Pool.Exec(t.Context(), "ALTER TABLE leat.outbox OWNER TO "+quote(owner))
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := s.Pool.Exec(context.Background(), "ALTER TABLE leat.outbox OWNER TO CURRENT_USER")
		require.NoError(t, err)
	})
	repaired := func() (grants []string) {
		found, _ := o.examined("--only", "roles.*", "--role", role+"=maintenance")
		for _, f := range found {
			if f.Verdict == doctor.Fail {
				_, err := s.Pool.Exec(t.Context(), f.Advice)
				require.NoError(t, err, f.Advice)
				grants = append(grants, f.Advice)
			}
		}
		return grants
	}
	require.Equal(t, []string{"GRANT " + quote(owner) + " TO " + quote(role), "GRANT CREATE ON SCHEMA leat TO " + quote(owner)}, repaired())
	require.Empty(t, repaired())
	var version int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int").Scan(&version))
	if version < 160000 {
		return // a membership has no such option
	}
	_, err = s.Pool.Exec(t.Context(), "GRANT "+quote(owner)+" TO "+quote(role)+" WITH SET FALSE")
	require.NoError(t, err)
	require.Equal(t, []string{"GRANT " + quote(owner) + " TO " + quote(role) + " WITH INHERIT TRUE, SET TRUE"}, repaired())
	require.Empty(t, repaired())
}

// verdictOf is the only finding about a role.
func (s *session) verdictOf(role, use string) doctor.Finding {
	s.t.Helper()
	found, _ := s.examined("--only", "roles.*", "--role", role+"="+use)
	require.Len(s.t, found, 1, "%+v", found)
	return found[0]
}

// work does what a role is for, as that role.
func (s *shop) work(t *testing.T, role, use string) {
	t.Helper()
	cfg := s.Pool.Config()
	cfg.ConnConfig.RuntimeParams["role"] = role
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	mine := &shop{s.Database, ob}
	id := "by " + use
	switch use {
	case "producer", "delaying-producer":
		mine.enqueue(t, placed(id, "orders", "order-1", "fine"))
	case "sql-producer":
		_, err = pool.Exec(t.Context(), "SELECT leat.outbox_enqueue('orders', '{}', key => '7')")
		require.NoError(t, err)
	case "relay", "maintenance", "maintenance-without-ddl":
		mine.relay(t, "", nothing)
	case "consumer":
		in, err := pginbox.New(pool, "by "+use, pginbox.Config{})
		require.NoError(t, err)
		_, err = in.Process(t.Context(), message.NewMessage("m-1", nil), func(context.Context) error { return nil })
		require.NoError(t, err)
	case "sql-consumer":
		_, err = pool.Exec(t.Context(), "SELECT leat.inbox_register('php')")
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), "SELECT leat.inbox_claim('php', 'm-1')")
		require.NoError(t, err)
	case "audit-pruning":
		_, err = pool.Exec(t.Context(), "DELETE FROM leat.outbox_audit WHERE no IN (SELECT no FROM leat.outbox_audit WHERE at < now() - interval '1 hour')")
		require.NoError(t, err)
	case "viewer":
		s.look(t, role, "status", "groups list", "parked list", "dead list", "delayed list", "messages search --limit 10", "audit", "retention ranges")
	case "inbox-floor-lowering":
		_, err = s.Pool.Exec(t.Context(), "UPDATE leat.inbox_retention SET floor = '0fffffff-0000-0000-0000-000000000000'")
		require.NoError(t, err)
		s.look(t, role, "inbox retention lower --reason clocks --yes")
	case "inbox-viewer":
		s.look(t, role, "inbox consumers", "inbox parked list", "inbox attempts --consumer billing", "inbox retention show")
	}
}

// look runs commands that only look, as a role.
func (s *shop) look(t *testing.T, role string, commands ...string) {
	t.Helper()
	o := newSession(t, s.URL+"&options=-c%20role%3D"+strings.ReplaceAll(role, " ", `%5C%20`))
	for _, command := range commands {
		r := o.leat(strings.Fields(command)...)
		require.Zero(t, r.code, "%s: %s%s", command, r.out, r.err)
	}
}
