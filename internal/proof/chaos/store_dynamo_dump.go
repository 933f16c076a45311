package chaos

import (
	"context"
	"strings"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

func (s *dynamoStore) dump(ctx context.Context, d dumper) error {
	for _, part := range []struct {
		table string
		line  func(row item) history.Line
		end   history.Line
	}{
		{roles.DynamoTransfers, ledgerLine, history.Line{Of: history.Ledger}},
		{roles.DynamoEffects, effectLine, history.Line{Of: history.EffectRow, Topic: roles.TopicTransfers, Consumer: roles.Ledger}},
		{roles.DynamoAccounts, balanceLine(""), history.Line{Of: history.Balance}},
		{roles.DynamoBalances, balanceLine(roles.Ledger), history.Line{Of: history.Balance}},
	} {
		if err := s.scan(ctx, part.table, func(row item) error { return d.out.Write(part.line(row)) }); err != nil {
			return err
		}
		if err := d.out.End(part.end); err != nil {
			return err
		}
	}
	return s.dumpWaiting(ctx, d)
}

func ledgerLine(row item) history.Line {
	return history.Line{
		Type: history.Ledger, ID: roles.DynamoText(row, "id"), Key: roles.DynamoText(row, "account"),
		Version: roles.DynamoNumber(row, "version"), Amount: roles.DynamoNumber(row, "amount"), To: roles.DynamoText(row, "to_account"),
	}
}

// effectLine numbers the effects by account.
func effectLine(row item) history.Line {
	l := ledgerLine(row)
	l.Type, l.Row, l.Version = history.EffectRow, l.Version, 0
	l.Consumer, l.Child = roles.Ledger, roles.DynamoText(row, "child")
	return l
}

func balanceLine(consumer string) func(row item) history.Line {
	return func(row item) history.Line {
		return history.Line{
			Type: history.Balance, Consumer: consumer, Key: roles.DynamoText(row, "pk"),
			Amount: roles.DynamoNumber(row, "balance"), Opening: roles.DynamoNumber(row, "opening"),
		}
	}
}

// dumpWaiting dumps the messages that the outboxes keep: for a retry, for an operator's decision, or by an
// operator.
func (s *dynamoStore) dumpWaiting(ctx context.Context, d dumper) error {
	for _, database := range []string{bankDatabase, ledgerDatabase} {
		err := s.scan(ctx, roles.DynamoOutbox(database), func(row item) error {
			l := history.Line{Type: history.Waiting, Where: whereOf(row), ID: roles.DynamoText(row, "i")}
			if l.Where == "" || l.ID == "" {
				return nil
			}
			return d.out.Write(l)
		})
		if err != nil {
			return err
		}
	}
	return d.out.End(history.Line{Of: history.Waiting})
}

// whereOf returns where an item of an outbox keeps its message. It is empty if the item is not about a
// message.
func whereOf(row item) string {
	switch kind, _, _ := strings.Cut(roles.DynamoText(row, "pk"), "#"); {
	case kind == "M":
		return history.Pending
	case kind == "H":
		return history.Parked
	case kind == "A" && roles.DynamoText(row, "ac") == "drop":
		return history.Dead
	default:
		return ""
	}
}
