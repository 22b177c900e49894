package desk

import (
	"fmt"
	"strings"
)

// language is how letters are said in one language.
type language struct {
	head  map[string]string
	what  string // count, type, place
	price string
	until string
	by    string
	clean string
	dirty string
	do    map[string]string
}

// The heads say what is wanted in one line, and name Spillway, which the robots
// of some channels want to find in a text.
var english = &language{
	head: map[string]string{
		letterOrder:          "[Spillway] %s: machines are ordered, ticket %s",
		letterReminder:       "[Spillway] %s: ticket %s still waits for its machines",
		letterWithdrawn:      "[Spillway] %s: ticket %s is WITHDRAWN. Please bring nothing for it any more",
		letterChanged:        "[Spillway] %s: ticket %s changed: fewer machines are wanted",
		letterExtended:       "[Spillway] %s: the machines of ticket %s are kept longer",
		letterTrouble:        "[Spillway] %s: machines of ticket %s do not let us in",
		letterReturn:         "[Spillway] %s: please take machines of ticket %s back. They cost until that is confirmed",
		letterReturnReminder: "[Spillway] %s: machines of ticket %s still cost: their return is not confirmed",
	},
	what:  "%d × %s%s",
	price: "at %s %s an hour each",
	until: "until %s",
	by:    "wanted by %s; after that the order is withdrawn",
	clean: "nothing of ours is on it",
	dirty: "could NOT be cleaned, please wipe it: %s",
	do: map[string]string{
		letterOrder:          "When they are there:  DELIVER --address ADDRESS --host-key 'ssh-ed25519 …' (for each)\nNone to be had:       REFUSE --why 'sold out'",
		letterReminder:       "When they are there:  DELIVER --address ADDRESS --host-key 'ssh-ed25519 …' (for each)\nNone to be had:       REFUSE --why 'sold out'",
		letterWithdrawn:      "Did they come all the same? Then say so, and they are told to go back:  DELIVER --address ADDRESS --host-key 'ssh-ed25519 …'",
		letterChanged:        "When they are there:  DELIVER --address ADDRESS --host-key 'ssh-ed25519 …' (for each)",
		letterTrouble:        "Please look at address, port, key and firewall; it is tried again all the time.",
		letterReturn:         "When the vendor has them back:  RETURNED",
		letterReturnReminder: "When the vendor has them back:  RETURNED",
	},
}

var chinese = &language{
	head: map[string]string{
		letterOrder:          "[Spillway] %s：订购机器，工单 %s",
		letterReminder:       "[Spillway] %s：工单 %s 的机器仍未交付",
		letterWithdrawn:      "[Spillway] %s：工单 %s 已撤回，请不要再交付",
		letterChanged:        "[Spillway] %s：工单 %s 有变更，所需机器减少",
		letterExtended:       "[Spillway] %s：工单 %s 的机器延长使用",
		letterTrouble:        "[Spillway] %s：工单 %s 的机器无法登录",
		letterReturn:         "[Spillway] %s：请收回工单 %s 的机器，确认之前仍在计费",
		letterReturnReminder: "[Spillway] %s：工单 %s 的机器仍在计费，退还尚未确认",
	},
	what:  "%d × %s%s",
	price: "每台每小时 %s %s",
	until: "使用至 %s",
	by:    "请于 %s 前交付，逾期工单自动撤回",
	clean: "机器上已没有我们的任何内容",
	dirty: "未能清理，请清空磁盘：%s",
	do: map[string]string{
		letterOrder:          "机器就绪后：DELIVER --address 地址 --host-key 'ssh-ed25519 …'（每台一组）\n无货时：REFUSE --why '售罄'",
		letterReminder:       "机器就绪后：DELIVER --address 地址 --host-key 'ssh-ed25519 …'（每台一组）\n无货时：REFUSE --why '售罄'",
		letterWithdrawn:      "如果机器仍然送到了，请登记，系统会要求退还：DELIVER --address 地址 --host-key 'ssh-ed25519 …'",
		letterChanged:        "机器就绪后：DELIVER --address 地址 --host-key 'ssh-ed25519 …'（每台一组）",
		letterTrouble:        "请检查地址、端口、密钥和防火墙；系统会不断重试。",
		letterReturn:         "供应商收回后：RETURNED",
		letterReturnReminder: "供应商收回后：RETURNED",
	},
}

// say writes a letter's text.
func (d *Desk) say(l *Letter, in *language) string {
	place := ""
	if l.Region+l.Zone != "" {
		place = " (" + strings.Trim(l.Region+" "+l.Zone, " ") + ")"
	}
	lines := []string{
		fmt.Sprintf(in.head[l.Kind], l.Vendor, l.Ticket),
		strings.Join([]string{
			fmt.Sprintf(in.what, l.Count, l.Type, place), fmt.Sprintf(in.price, l.Rate.Amount, l.Rate.Currency), fmt.Sprintf(in.until, stamp(l.Until)),
		}, ", "),
	}
	if !l.Deadline.IsZero() {
		lines = append(lines, fmt.Sprintf(in.by, stamp(l.Deadline)))
	}
	for _, m := range l.Machines {
		line := "- " + m.ID + " " + orDash(m.Address)
		switch {
		case l.Kind == letterTrouble:
			line += ": " + m.Said
		case m.Clean:
			line += ": " + in.clean
		default:
			line += ": " + fmt.Sprintf(in.dirty, orDash(m.Said))
		}
		lines = append(lines, line)
	}
	if do := in.do[l.Kind]; do != "" {
		fill := strings.NewReplacer("DELIVER", d.o.Answer("deliver", l.Ticket), "REFUSE", d.o.Answer("refuse", l.Ticket), "RETURNED", d.o.Answer("returned", l.Ticket))
		lines = append(lines, fill.Replace(do))
	}
	return strings.Join(lines, "\n")
}
