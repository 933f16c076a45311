package pgoutbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// errNotOwner is wrapped by the errors of Maintenance if its role is neither the owner of the log
// nor a member of the owner, and so can neither create nor drop ranges.
var errNotOwner = errors.New("leat: the role of maintenance is not a member of the one that owns the log")

// findOwner finds out who owns the log: new ranges must belong to the same role, or that role
// could neither migrate nor drop them.
func (p *tailPlan) findOwner(ctx context.Context, tx pgx.Tx) error {
	var owner, me string
	var member bool
	err := tx.QueryRow(ctx, p.m.sql.owner).Scan(&owner, &me, &member)
	switch {
	case err != nil:
		return err
	case !member:
		return fmt.Errorf("%w: %q is not a member of %q: grant it the membership, or maintain without DDL", errNotOwner, me, owner)
	case owner != me:
		p.owner = owner
	}
	return nil
}
