package bot

import "spillway.sh/spillway/bridge/desk"

// reason is one thing the bot itself says, in both languages. Everything else
// is said by the conversation.
type reason struct{ en, zh string }

func (r reason) in(l desk.Lang) string {
	if l == desk.Chinese {
		return r.zh
	}
	return r.en
}

// Why somebody has no account here.
var (
	reasonSilent = reason{
		"Slack does not say who you are just now, so nothing was done. Try again in a minute, or use the command `spillway` on the cluster.",
		"Slack 目前没有回答您的身份，因此未做任何操作。请一分钟后重试，或在集群上使用 `spillway` 命令。",
	}
	reasonForeign     = reason{"This belongs to another Slack workspace.", "此操作来自另一个 Slack 工作区。"}
	reasonDeleted     = reason{"This Slack account is deactivated.", "该 Slack 账号已停用。"}
	reasonBot         = reason{"Bots and apps cannot ask for machines or decide.", "机器人和应用不能申请机器，也不能审批。"}
	reasonGuest       = reason{"Guests of this workspace cannot ask for machines or decide.", "本工作区的访客不能申请机器，也不能审批。"}
	reasonUnknown     = reason{"No account of the cluster is known for you. An administrator can add your Slack id to the table of users.", "没有找到与您对应的集群账号。管理员可以将您的 Slack 用户 ID 加入用户表。"}
	reasonUnconfirmed = reason{"Slack has not confirmed your e-mail address, and your account hangs on it.", "Slack 尚未确认您的邮箱地址，而您的账号由邮箱确定。"}
	reasonTwo         = reason{"More than one account of the cluster would be yours, so none is. An administrator has to correct the table of users.", "有多个集群账号与您对应，因此均不采用。请管理员更正用户表。"}
	reasonNoUnix      = reason{"The account that you are mapped to does not exist on the cluster.", "您所对应的账号在集群上不存在。"}
)

// What the bot says when something went wrong on our side.
var (
	textNotKept = reason{
		"That could not be recorded, so nothing was done. Please try again.",
		"操作未能记录，因此什么都没有做。请重试。",
	}
	textFault = reason{
		"Something went wrong on our side; it is in the log as %s. Nothing else was done.",
		"我们这边出错了，日志编号 %s。没有进行其他操作。",
	}
	textNoForm = reason{
		"The form could not be opened in time. Please try again, or type the whole command; /rent help shows how.",
		"表单未能及时打开。请重试，或输入完整命令；/rent help 有说明。",
	}
)
