package bridge

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
)

// RentalID names a rental: "r-", three to five Crockford base32 characters and
// a check character, so that a mistyped id is refused instead of releasing
// somebody else's machines.
type RentalID string

// idAlphabet is Crockford's without z: 31 digits, a prime, so that the check
// character catches every single wrong character and every swap of neighbours.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxy"

// Rental ids are made from a store's counter: short, never reused.
const minIDLen, maxIDLen = 3, 5

// maxRentals is 31^5, the number of ids.
const maxRentals = 28_629_151

// NewRentalID makes the id of the n-th rental of a store; n counts from 1. It
// panics past maxRentals, which no store reaches.
func NewRentalID(n int64) RentalID {
	const base = int64(len(idAlphabet))
	if n < 1 || n >= maxRentals {
		panic(fmt.Sprintf("rental number %d is out of range", n))
	}
	var b []byte
	for v := n; v > 0 || len(b) < minIDLen; v /= base {
		b = append([]byte{idAlphabet[v%base]}, b...)
	}
	return RentalID("r-" + string(b) + string(idAlphabet[checkOf(b)]))
}

// ParseRentalID reads an id as people type it: any case, O for 0, I or L for
// 1, the prefix optional. It refuses a wrong check character.
func ParseRentalID(s string) (RentalID, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	t = strings.TrimPrefix(t, "r-")
	t = strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(t)
	if len(t) < minIDLen+1 || len(t) > maxIDLen+1 {
		return "", fmt.Errorf("rental id %q: want r- and %d to %d characters, for example %s", s, minIDLen+1, maxIDLen+1, NewRentalID(1))
	}
	for _, c := range t {
		if !strings.ContainsRune(idAlphabet, c) {
			return "", fmt.Errorf("rental id %q: character %q is not used in ids", s, c)
		}
	}
	body, check := []byte(t[:len(t)-1]), t[len(t)-1]
	if idAlphabet[checkOf(body)] != check {
		return "", fmt.Errorf("rental id %q: mistyped (its check character does not match)", s)
	}
	return RentalID("r-" + t), nil
}

// checkOf weighs each character by its place, modulo the alphabet's prime size.
func checkOf(b []byte) int {
	sum := 0
	for i, c := range b {
		sum += (i + 1) * strings.IndexByte(idAlphabet, c)
	}
	return sum % len(idAlphabet)
}

// NodeName is the scheduler's name of a machine of a rental.
func NodeName(id RentalID, ordinal int) string {
	return "sw-" + strings.TrimPrefix(string(id), "r-") + "-" + strconv.Itoa(ordinal)
}

// PartitionName is the overlay partition of a rental.
func PartitionName(id RentalID) string { return "sw-" + strings.TrimPrefix(string(id), "r-") }

// Token returns the idempotency token of one create call: a hash of the store,
// the rental, the pool, the attempt and every other parameter, so that a retry
// is byte-identical and a changed call never reuses a token. At most 64 ASCII
// characters, as the clouds require.
func Token(storeID string, l Launch) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	for _, s := range []string{storeID, string(l.Rental), l.Pool.String(), strconv.Itoa(l.Attempt), strconv.Itoa(l.Count), strconv.FormatInt(l.Expires.Unix(), 10), strconv.FormatInt(l.MaxRate.Micro, 10), string(l.MaxRate.Currency)} {
		part(s)
	}
	if l.Contract != "" {
		part(l.Contract)
	}
	for _, k := range sortedKeys(l.Tags) {
		part(k)
		part(l.Tags[k])
	}
	part(l.UserData)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)))[:40]
}

// Number is which rental of its store an id names, counted from 1; zero for
// what is no id.
func (id RentalID) Number() int64 {
	if _, err := ParseRentalID(string(id)); err != nil {
		return 0
	}
	body := strings.TrimPrefix(string(id), "r-")
	n := int64(0)
	for _, c := range body[:len(body)-1] {
		n = n*int64(len(idAlphabet)) + int64(strings.IndexRune(idAlphabet, c))
	}
	return n
}
