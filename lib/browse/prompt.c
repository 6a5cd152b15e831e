// SPDX-License-Identifier: GPL-2.0-or-later
/* A line that is typed. */
#include "browse/prompt.h"

#include <string.h>

#include "browse/key.h"

#define KEY_CTRL_U 0x15

void browse_prompt_begin(struct browse_prompt *prompt, const char *text)
{
	*prompt = (struct browse_prompt){.is_open = true, .nr = strlen(text)};
	if (prompt->nr >= sizeof(prompt->text))
		prompt->nr = sizeof(prompt->text) - 1;
	memcpy(prompt->text, text, prompt->nr);
}

/* Remove a whole character, which may have several bytes. */
static void take_back(struct browse_prompt *prompt)
{
	while (prompt->nr > 0 && ((unsigned char)prompt->text[prompt->nr - 1] & 0xc0) == 0x80)
		prompt->nr--;
	if (prompt->nr > 0)
		prompt->nr--;
}

static enum browse_prompt_end end(struct browse_prompt *prompt, enum browse_prompt_end how)
{
	prompt->is_open = false;
	return how;
}

enum browse_prompt_end browse_prompt_key(struct browse_prompt *prompt, int key)
{
	if (key == BROWSE_KEY_ENTER || key == BROWSE_KEY_RETURN)
		return end(prompt, BROWSE_PROMPT_DONE);
	if (key == BROWSE_KEY_ESCAPE || key == BROWSE_KEY_CTRL_C)
		return end(prompt, BROWSE_PROMPT_LEFT);
	if (key == BROWSE_KEY_BACKSPACE || key == BROWSE_KEY_DELETE)
		take_back(prompt);
	else if (key == KEY_CTRL_U)
		prompt->nr = 0;
	else if (key >= ' ' && key < BROWSE_KEY_UP && prompt->nr + 1 < sizeof(prompt->text))
		prompt->text[prompt->nr++] = (char)key;
	prompt->text[prompt->nr] = '\0';
	return BROWSE_PROMPT_OPEN;
}
