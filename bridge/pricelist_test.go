package bridge

import "testing"

func TestPriceListsAreRead(t *testing.T) {
	all, err := readPriceLists(priceLists)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		known := p.Market == OnDemand || p.Market == Spot
		if p.As == "" || p.GPUs < 1 || !known || p.Low.Micro < 0 || p.High.Micro < p.Low.Micro || p.Low.Currency == "" || p.Type == "" {
			t.Errorf("%+v", p)
		}
	}
}

func TestTheCheapestOfEachProviderIsListed(t *testing.T) {
	got := ListPrices("h100", 8)
	seen := map[string]bool{}
	for i, p := range got {
		key := p.Cloud + string(p.Market)
		if seen[key] || p.GPUs != 8 || p.GPU != "h100" || p.Low.Micro == 0 {
			t.Errorf("%+v", p)
		}
		seen[key] = true
		if i > 0 && p.dollars() < got[i-1].dollars() {
			t.Errorf("%+v is after a dearer one", p)
		}
	}
	if len(seen) < 3 {
		t.Errorf("only %d are listed: %+v", len(seen), got)
	}
	for _, p := range ListPrices("a100", 8) {
		if p.GPU != "a100-40" && p.GPU != "a100-80" {
			t.Errorf("an a100 is %+v", p)
		}
	}
	if n := len(ListPrices("h100", 3)) + len(ListPrices("nonesuch", 8)); n > 0 {
		t.Errorf("%d prices of what no list has", n)
	}
}
