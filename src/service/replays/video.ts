/** How a video is encoded: H.264 in fragmented MP4, VP9 or VP8 in WebM. */
export type VideoFormat = 'h264' | 'vp9' | 'vp8';

/** The size in pixels, both even, and frames per second. */
export type VideoSettings = { width: number; height: number; framerate: number };
