package schema

import "testing"

func TestGroupsAreEqualNumbersOrEqualDigits(t *testing.T) {
	for _, same := range [][]string{
		{"7", "7.0", "+7", "07", "7e0"},
		{"4539000000000000", "4539000000000000.0", "4.539e15"},
		{"9007199254740991"},
		{"9007199254740992", "9007199254740992.00", "+9007199254740992"},
		{"9007199254740993", "09007199254740993"},
		{"-9007199254740993"},
		{"1e300", "1e+300"},
		{"1234567890123456781x"},
	} {
		for _, text := range same {
			if GroupKey([]byte(text)) != GroupKey([]byte(same[0])) {
				t.Errorf("%s and %s are different groups", text, same[0])
			}
			for _, other := range []string{"8", "4539000000000001", "9007199254740994", "1234567890123456781"} {
				if GroupKey([]byte(text)) == GroupKey([]byte(other)) {
					t.Errorf("%s and %s are one group", text, other)
				}
			}
		}
	}
	if GroupKey([]byte("9007199254740992")) == GroupKey([]byte("9007199254740993")) {
		t.Error("2⁵³ and 2⁵³+1 are one group")
	}
}
