package wmoutbox

var ErrMixedTransactions = errMixedTransactions
