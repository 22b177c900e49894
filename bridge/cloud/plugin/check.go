package plugin

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

var kinds = []bridge.CloudErrorKind{
	bridge.CloudNoCapacity, bridge.CloudQuota, bridge.CloudPrice, bridge.CloudDenied, bridge.CloudInvalid,
	bridge.CloudMismatch, bridge.CloudThrottled, bridge.CloudNotFound, bridge.CloudUnknown,
}

var states = map[string]bridge.InstanceState{
	"pending": bridge.InstancePending, "running": bridge.InstanceRunning, "stopping": bridge.InstanceStopping, "gone": bridge.InstanceGone,
}

// check says what is wrong with an answer, by the name of its field.
func check(call wire.Call, a *wire.Answer) error { //nolint:gocyclo // One case for each call.
	if a.Version != wire.Version {
		return fmt.Errorf("spillway: %d, want %d", a.Version, wire.Version)
	}
	if a.Error != nil {
		if !slices.Contains(kinds, bridge.CloudErrorKind(a.Error.Kind)) {
			return fmt.Errorf("error.kind: %q is none of %v", a.Error.Kind, kinds)
		}
		if a.Error.RetryAfter < 0 {
			return errors.New("error.retry_after: less than nothing")
		}
		return nil
	}
	switch call {
	case wire.CallDescribe:
		return checkDescription(a.Describe)
	case wire.CallOffers:
		for i := range a.Offers {
			if err := checkOffer(&a.Offers[i]); err != nil {
				return fmt.Errorf("offers[%d].%w", i, err)
			}
		}
	case wire.CallCreate:
		if a.Handle == "" {
			return errors.New("handle: missing; a create answers with a handle or an error")
		}
	case wire.CallObserve, wire.CallList:
		seen := map[string]bool{}
		for i := range a.Machines {
			m := &a.Machines[i]
			if err := checkMachine(m); err != nil {
				return fmt.Errorf("machines[%d].%w", i, err)
			}
			if seen[m.ID] {
				return fmt.Errorf("machines[%d].id: %q is there twice", i, m.ID)
			}
			seen[m.ID] = true
		}
	case wire.CallTerminate, wire.CallExtend:
	}
	return nil
}

func checkDescription(d *wire.Description) error {
	switch {
	case d == nil:
		return errors.New("describe: missing")
	case d.Name == "" || d.Version == "":
		return errors.New("describe: name and version must be given")
	case d.Idempotency != byToken && d.Idempotency != byNothing:
		return fmt.Errorf("describe.idempotency: %q, want %s or %s", d.Idempotency, byToken, byNothing)
	}
	return nil
}

func checkOffer(o *wire.Offer) error {
	if err := checkPool(o.Type, o.Market); err != nil {
		return err
	}
	if rate, err := rateIn(o.Rate); err != nil || rate.Micro == 0 {
		return fmt.Errorf("rate: %s %s is no price of a machine-hour", o.Rate.Amount, o.Rate.Currency)
	}
	for name, d := range map[string]wire.Duration{"boot": o.Boot, "step": o.Step, "minimum": o.Minimum, "notice": o.Notice} {
		if d < 0 {
			return fmt.Errorf("%s: less than nothing", name)
		}
	}
	switch {
	case o.CPUs <= 0 || o.MemoryMiB <= 0:
		return errors.New("cpus, memory_mib: must be more than nothing")
	case o.GPUs < 0 || o.DiskMiB < 0:
		return errors.New("gpus, disk_mib: less than nothing")
	case (o.GPUs > 0) != (o.GPUType != ""):
		return errors.New("gpu_type: belongs to gpus, and gpus to it")
	case !bridge.Network(o.Network).Valid():
		return fmt.Errorf("network: %q is none of 25g, 100g, rdma", o.Network)
	case o.SampledAt.IsZero():
		return errors.New("sampled_at: missing; a price without its time is not one")
	case o.MaxAge <= 0:
		return errors.New("max_age: missing; it says how long the price holds")
	case o.Available != nil && *o.Available < 0:
		return errors.New("available: less than nothing; leave it out if it is not known")
	}
	return nil
}

func checkMachine(m *wire.Machine) error {
	if m.ID == "" {
		return errors.New("id: missing")
	}
	if err := checkPool(m.Type, m.Market); err != nil {
		return err
	}
	if _, ok := states[m.State]; !ok {
		return fmt.Errorf("state: %q is none of pending, running, stopping, gone", m.State)
	}
	if _, err := rateIn(m.Rate); err != nil {
		return fmt.Errorf("rate: %w", err)
	}
	if !m.Stopped.IsZero() && m.Stopped.Before(m.Launched) {
		return fmt.Errorf("stopped: %s is before it was launched", m.Stopped.Format(time.RFC3339))
	}
	return nil
}

func checkPool(kind, market string) error {
	if kind == "" {
		return errors.New("type: missing")
	}
	if market != string(bridge.OnDemand) && market != string(bridge.Spot) {
		return fmt.Errorf("market: %q is neither on-demand nor spot", market)
	}
	return nil
}

// rateIn reads a decimal rate; a fraction of a micro-unit counts as one.
func rateIn(r wire.Rate) (bridge.Rate, error) {
	d, err := decimal.NewFromString(r.Amount.String())
	if err != nil {
		return bridge.Rate{}, fmt.Errorf("%q is no amount", r.Amount)
	}
	micro := d.Shift(6).Ceil()
	if d.IsNegative() || !micro.BigInt().IsInt64() {
		return bridge.Rate{}, fmt.Errorf("%s cannot be a rate", r.Amount)
	}
	if len(r.Currency) != 3 {
		return bridge.Rate{}, fmt.Errorf("%q is no currency like USD", r.Currency)
	}
	return bridge.Rate{Micro: micro.IntPart(), Currency: bridge.Currency(r.Currency)}, nil
}
