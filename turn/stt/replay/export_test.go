package replay

// ReadWAV is readWAV, for its fuzz test.
var ReadWAV = readWAV
