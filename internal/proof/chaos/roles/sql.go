package roles

import _ "embed" // for the statements

// BankSchema makes the bank's tables.
//
//go:embed sql/bank.sql
var BankSchema string

// LedgerSchema makes the ledger's tables.
//
//go:embed sql/ledger.sql
var LedgerSchema string

//go:embed sql/open_account.sql
var openAccount string

//go:embed sql/lock_accounts.sql
var lockAccounts string

//go:embed sql/transfer.sql
var transferSQL string

//go:embed sql/lock_balances.sql
var lockBalances string

//go:embed sql/book.sql
var bookSQL string

//go:embed sql/effect.sql
var effectSQL string
