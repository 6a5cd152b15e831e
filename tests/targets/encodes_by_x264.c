// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * encodes_by_x264 [FRAMES]: pictures made here, encoded by libx264 and its threads, whose assembler
 * realigns its stack in ways of its own.
 */
#include <stdint.h>
#include <x264.h>

#include "self_measure.h"

#define WIDTH  320
#define HEIGHT 240

static void draw(x264_picture_t *picture, unsigned nr)
{
	for (unsigned plane = 0; plane < 3; plane++) {
		unsigned height = plane ? HEIGHT / 2 : HEIGHT;
		size_t stride = (size_t)picture->img.i_stride[plane];

		for (unsigned y = 0; y < height; y++)
			for (unsigned x = 0; x < stride; x++)
				picture->img.plane[plane][y * stride + x] =
					(uint8_t)((x + nr) * (y + 3 * nr) >> 5);
	}
}

static int encode(x264_t *encoder, x264_picture_t *picture)
{
	x264_picture_t out;
	x264_nal_t *nals;
	int nr_nals;

	return x264_encoder_encode(encoder, &nals, &nr_nals, picture, &out);
}

int main(int argc, char **argv)
{
	unsigned nr_frames = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 50;
	x264_param_t parameters;
	x264_picture_t picture;
	x264_t *encoder;
	long nr_bytes = 0;

	if (x264_param_default_preset(&parameters, "medium", NULL))
		return 1;
	parameters.i_log_level = X264_LOG_ERROR;
	parameters.i_width = WIDTH;
	parameters.i_height = HEIGHT;
	parameters.i_csp = X264_CSP_I420;
	parameters.i_threads = 2;
	parameters.i_fps_num = 25;
	parameters.i_fps_den = 1;
	encoder = x264_encoder_open(&parameters);
	if (!encoder || x264_picture_alloc(&picture, X264_CSP_I420, WIDTH, HEIGHT))
		return 1;
	for (unsigned i = 0; i < nr_frames; i++) {
		draw(&picture, i);
		picture.i_pts = i;
		nr_bytes += encode(encoder, &picture);
	}
	while (x264_encoder_delayed_frames(encoder))
		nr_bytes += encode(encoder, NULL);
	printf("{\"bytes\": %ld}\n", nr_bytes);
	x264_picture_clean(&picture);
	x264_encoder_close(encoder);
	return 0;
}
