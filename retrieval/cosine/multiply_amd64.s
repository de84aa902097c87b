#include "textflag.h"

// func multiplyAVX2(sums *int32, question *int16, codes *int8, width, rows int)
//
// A turn of the inner loop takes 32 codes: each 16 are widened to 16 bits, and
// multiplied and added in pairs to 32. Four sums of eight lanes are added up at the
// end of a row.
TEXT ·multiplyAVX2(SB), NOSPLIT, $0-40
	MOVQ sums+0(FP), DI
	MOVQ question+8(FP), SI
	MOVQ codes+16(FP), BX
	MOVQ width+24(FP), CX
	MOVQ rows+32(FP), DX

row:
	TESTQ DX, DX
	JZ    done
	MOVQ  SI, R8
	MOVQ  CX, R9
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

codes:
	VPMOVSXBW (BX), Y2
	VPMOVSXBW 16(BX), Y3
	VPMADDWD  (R8), Y2, Y2
	VPMADDWD  32(R8), Y3, Y3
	VPADDD    Y2, Y0, Y0
	VPADDD    Y3, Y1, Y1
	ADDQ      $32, BX
	ADDQ      $64, R8
	SUBQ      $32, R9
	JNZ       codes

	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (DI)
	ADDQ         $4, DI
	DECQ         DX
	JMP          row

done:
	VZEROUPPER
	RET
