package adopt

var ErrTableBusy = errTableBusy
