package chaos

import (
	"context"
	"strings"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/admin"
)

// store is the kind of database that the processes of a run stand on.
type store interface {
	// start starts its server and returns it, nil if it has none.
	start(ctx context.Context) (*testenv.Own, error)
	// open makes the databases of bank and ledger, with outbox, inbox and accounts.
	open(ctx context.Context) error
	// forget drops the driver's connections, which a crash may have broken.
	forget()
	service() report.Service

	// roster is who runs.
	roster() []member
	// address is what a process is told of its database, which it reaches at hostPort.
	address(role, process, hostPort string) (string, error)
	// isCommit reports whether what a client has written holds a COMMIT.
	isCommit(b []byte) bool
	// strikes reports whether a deed has something to strike here.
	strikes(d deed) bool

	// crash is what a crash of the server is.
	crash() serverFault
	// lines are faults in which transactions of others take part.
	lines(in *injection) []serverFault
	// terminate ends a session of a process, one in a transaction if that is asked for.
	terminate(ctx context.Context, process string, inTransaction bool) bool

	// pending is how many records wait for the relays of a role, a hundred at most.
	pending(ctx context.Context, role string) int64
	// counted are how many events were enqueued and effects had, negative if unknown.
	counted(ctx context.Context) (enqueued, effects int64)
	// leftovers is what is under way in the databases.
	leftovers() []leftover
	// dropParked does what operators do with records that can never be sent.
	dropParked(ctx context.Context) error
	// dump writes down what the databases hold.
	dump(ctx context.Context, d dumper) error
}

// ground is a store on which acts can be performed: all that they ask of each.
type ground interface {
	// acts are those of this store.
	acts(in *injection) []act
	// newest is the newest transfer between accounts whose id is not below from.
	newest(ctx context.Context, from string) (id string, err error)
	// arrived reports whether one of these transfers has had its effect.
	arrived(ctx context.Context, ids []string) (bool, error)
	// booked counts the transfers whose keys begin with key.
	booked(ctx context.Context, key string) (int64, error)
	// toSend counts what the bank's relays have to send, once more or for the first time.
	toSend(ctx context.Context) (int64, error)
	// unsent counts what waits for the bank's relays or is set aside, of keys that begin with key.
	unsent(ctx context.Context, key string) (int64, error)
	// rebase has the relays of a role start over.
	rebase(ctx context.Context, role string) error
	// setMaxLag sets the greatest lag of the group that sends the bank's outbox.
	setMaxLag(ctx context.Context, req admin.MaxLagRequest) error
	// disconnect ends all sessions of the processes.
	disconnect(ctx context.Context) error
}

// newStore returns the store that the options ask for.
func newStore(st *stage) store {
	switch st.options.Store {
	case roles.Postgres:
		return postgresStore{st}
	case roles.DynamoDB:
		return &dynamoStore{stage: st}
	default:
		return &sqlStore{stage: st}
	}
}

// member is a process of a run.
type member struct{ name, role string }

// pairs are banks and two processes of each role that reads, for stores that have those alone.
func pairs(banks ...member) []member {
	for _, role := range []string{roles.Relay, roles.Ledger, roles.Receipts} {
		banks = append(banks, member{role + "-1", role}, member{role + "-2", role})
	}
	return banks
}

// pointServer is the point of faults of the store's server.
func pointServer(store string) string { return "server/" + store }

// pointConnection is the point of faults of a role's way to the store's server.
func pointConnection(role, store string) string { return "connection/" + role + "-" + store }

// isConnection reports whether a fault at a point needs a server that is reached by network.
func isConnection(d deed) bool {
	return strings.HasPrefix(d.point, "connection/") || d.kind == roles.KindCut
}
