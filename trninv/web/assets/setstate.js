import{E as e,_ as t,c as n,p as r,r as i,t as a,w as o,x as s}from"./jsxRuntime.js";import{M as c,P as l,R as u,V as d,a as f,d as p,h as m,l as h,p as g,t as _,u as v}from"./words.js";import{_ as y,f as b,n as x,o as S}from"./state.js";import{n as C,t as w}from"./confirmation.js";import{I as T}from"./index.js";var E=c(`fragment Seen on Event { event at who why }`),D=c(`
  query Named(
    $servers: [Address!]!, $chips: [Address!]!, $switches: [Address!]!, $nics: [Address!]!
    $nodes: [Address!]!, $links: [Address!]!
  ) {
    events(last: 1) { nodes { event } }
    servers(filter: { address: { in: $servers } }, first: 400) {
      nodes { kind: __typename address state factor lastChange { ...Seen } chips(first: 64) { nodes { address state job } } }
    }
    chips(filter: { address: { in: $chips } }, first: 1000) {
      nodes { kind: __typename address state factor job lastChange { ...Seen } }
    }
    switches(filter: { address: { in: $switches } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    nics(filter: { address: { in: $nics } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    networkNodes(filter: { address: { in: $nodes } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    links(filter: { address: { in: $links } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
  }
`,[E]),O=c(`
  mutation Set($input: SetStateInput!) {
    setState(input: $input) {
      changes {
        address before factorBefore after
        target {
          ... on Server { state lastChange { event } }
          ... on Chip { state lastChange { event } }
          ... on Switch { state lastChange { event } }
          ... on Nic { state lastChange { event } }
          ... on NetworkNode { state lastChange { event } }
          ... on Link { state lastChange { event } }
        }
      }
    }
  }
`),k=c(`
  fragment Able on CapabilityAnswer {
    chips idleLinks
    halves { exact upper { gigabytesPerSecond } }
  }
`),A=c(`
  query CapabilityIf($scope: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      capability(scope: $scope) { ...Able difference { incomparable } baseline { ...Able } }
    }
  }
`,[k]),j=c(`
  query FlowIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      bandwidth(from: $from, to: $to) {
        maximumFlow { gigabytesPerSecond }
        baseline { maximumFlow { gigabytesPerSecond } }
      }
    }
  }
`),M=c(`
  query Brought($scope: Address!) {
    incidents(scope: $scope, first: 1) {
      nodes {
        id causes causeCount
        impact {
          domains {
            domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
            bisectionBefore { upper { gigabytesPerSecond } exact }
            bisectionNow { upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function N(e){let[t,n,r,i]=[/\/s\d+$/,/\/c\d+$/,/\/sw\d+$/,/\/efa\d+$/].map(t=>e.filter(e=>!e.includes(`--`)&&t.test(e))),a=e.filter(e=>e.includes(`--`)),o=new Set([t,n,r,i,a].flat());return{servers:t,chips:n,switches:r,nics:i,nodes:e.filter(e=>!o.has(e)),links:a}}var ee=e=>[...e.servers.nodes,...e.chips.nodes,...e.switches.nodes,...e.nics.nodes,...e.networkNodes.nodes,...e.links.nodes],P={Nic:`NIC`,NetworkNode:`network node`};function F(e){let t=new Map;for(let{kind:n}of e)t.set(n,(t.get(n)??0)+1);return[...t].map(([e,t])=>v(t,P[e]??e.toLowerCase())).join(`, `)}var I=(e,t)=>`Set ${F(e)} to ${t}`;function L(e){let t=e.flatMap(e=>`chips`in e?e.chips.nodes:`job`in e?[e]:[]);return new Map(t.map(e=>[e.address,e]))}var R=({lastChange:e})=>e?.event??0;function z(e,t){for(let n of t)e.has(n.address)||e.set(n.address,{state:n.state,event:R(n)})}var B=(e,t)=>t.filter(t=>e.get(t.address)?.event!==R(t)),V=[`up`,`degraded`];function H(e,t,n){let r=!V.includes(t),i=e.filter(({state:e})=>V.includes(e));if(r)return{down:i.map(({address:e})=>e),derate:[]};let a=e=>n/(e.factor??1);return i.length===e.length&&t===`degraded`&&e.every(e=>a(e)<=1)?{down:[],derate:e.filter(e=>a(e)<1).map(e=>({address:e.address,factor:a(e)}))}:null}function U(e){let t=new Map;for(let n of e){let e=`${+!!/\/s\d+$/.test(n.address)} ${n.before} ${n.factorBefore}`;t.set(e,[...t.get(e)??[],n])}return[...t].sort(([e],[t])=>e<t?-1:1).map(([,e])=>e)}var W=2;function G({things:e,to:n,factor:r,route:i}){let{reached:o}=t(),s=H(e,n,r),c=[...new Set(e.map(({address:e})=>T(e)))].filter(Boolean),l=s&&!s.down.length&&!s.derate.length;return a(`section`,{class:`would`,"aria-label":`What this would change`,children:[a(`h3`,{children:[`What this would change `,a(`span`,{class:`quiet`,children:[`as of `,b(o),` UTC`]})]}),l&&a(`p`,{class:`quiet`,children:`No effect on capacity.`}),s&&!l&&c.slice(0,W).map(e=>a(J,{domain:e,assumed:s,route:i},e)),s&&!l&&c.length>W&&a(`p`,{class:`quiet`,children:[`and `,v(c.length-W,`more domain`)]}),s&&!c.length&&!l&&a(`p`,{class:`quiet`,children:`Not in a scale-up domain, so no NeuronLink changes.`}),!s&&a(X,{things:e,to:n}),a(Z,{things:e,to:n})]})}function K({name:e,before:t,now:n,unit:r=``,isBad:i=!1,incomparable:o}){let s=n-t,c=o?`not comparable: ${o}`:f(t,n)||`no change`;return a(`div`,{children:[a(`dt`,{children:e}),a(`dd`,{children:[a(m,{now:`${h(n)}${r}`,before:h(t)+(s?``:r)}),a(`span`,{class:s<0!==i&&s&&!o?`less`:`quiet`,children:c})]})]})}function q({result:e,children:t}){return e.error?a(`p`,{class:`failure`,children:e.error.message}):e.data===void 0?e.loading?a(`p`,{class:`quiet`,children:`Computing…`}):null:a(`dl`,{class:e.loading?`figures stale`:`figures`,"aria-busy":e.loading,children:t(e.data)})}function J({domain:t,assumed:n,route:r}){let{from:i,to:o}=r.view===`domain`&&r.subject===t?r.options:{},s=i&&o?{from:_(t,i),to:_(t,o)}:null,c=d(l(A,{scope:t,...n})),u=d(s&&l(j,{...s,...n}));return a(e,{children:[a(q,{result:c,children:({whatIf:{capability:e}})=>e.baseline&&a(Y,{domain:t,chips:[e.baseline.chips,e.chips],links:[e.baseline.idleLinks,e.idleLinks],halves:[e.baseline.halves,e.halves],incomparable:e.difference?.incomparable})}),s&&a(q,{result:u,children:({whatIf:{bandwidth:e}})=>a(K,{name:`Maximum flow ${p(t,s.from)} to ${p(t,s.to)}`,before:e.baseline?.maximumFlow.gigabytesPerSecond??0,now:e.maximumFlow.gigabytesPerSecond,unit:` GB/s`})})]})}function Y({domain:t,chips:n,links:r,halves:[i,o],incomparable:s}){return a(e,{children:[a(K,{name:`Working chips in ${t}`,before:n[0],now:n[1]}),a(K,{name:`Idle links`,before:r[0],now:r[1],isBad:!0}),a(K,{name:i.exact&&o.exact?`Bisection`:`Bisection, at most`,before:i.upper.gigabytesPerSecond,now:o.upper.gigabytesPerSecond,unit:` GB/s`,incomparable:s})]})}function X({things:e,to:t}){let n=e.find(({state:e})=>e!==`up`)?.address,r=d(t===`up`&&n?l(M,{scope:n}):null),i=new Set(e.map(({address:e})=>e));return t!==`up`||!n?a(`p`,{class:`quiet`,children:`Capacity will increase. The numbers are known once the state is set.`}):a(q,{result:r,children:({incidents:{nodes:e}})=>{let t=e[0];return t?t.causeCount>t.causes.length||!t.causes.every(e=>i.has(e))?a(`p`,{class:`quiet`,children:[`Part of incident `,t.id,`, which has `,v(t.causeCount,`cause`),`. What the other causes took down stays down.`]}):t.impact.domains.map(e=>a(Y,{domain:e.domain,chips:[e.chipsNow,e.chipsBefore],links:[e.idleLinksNow,e.idleLinksBefore],halves:[e.bisectionNow,e.bisectionBefore],incomparable:e.incomparable},e.domain)):a(`p`,{class:`quiet`,children:`Not part of an incident.`})}})}function Z({things:e,to:t}){let n=new Map;for(let{address:t,job:r}of L(e).values())r&&n.set(r,[...n.get(r)??[],t]);return t===`up`?null:a(`ul`,{class:`plain`,children:[...n].map(([e,t])=>a(`li`,{children:[a(x,{state:`degraded`}),` job `,e,` uses `,h(t.length),` of these chips`,` `,a(`a`,{href:i(`jobs`,``,{in:T(t[0]??``),fit:`chips:${t.length}`}),target:`_blank`,rel:`noopener`,children:`Find another placement`})]},e))})}var Q=e=>Math.max(0,...e.map(({target:e})=>`lastChange`in e?e.lastChange?.event??0:0)),te=e=>({message:e.message,undo:e.changes.length?()=>ne(e):void 0});async function ne({changes:e,why:t,who:n}){let i=Q(e);for(let a of U(e)){let e={addresses:a.map(({address:e})=>e),state:a[0]?.before.toUpperCase(),factor:a[0]?.factorBefore??null,why:`undone: ${t}`.slice(0,1e3),who:n,unchangedSince:i},{setState:o}=await u({...l(O,{input:e}),at:``});r(Q(o.changes))}}var re=[`up`,`degraded`,`down`,`maintenance`],ie=1e3;function $(e){e.places.length&&C(t=>a(ae,{change:e,close:t}))}function ae({change:t,close:i}){let c=s(new Map),f=n(),[p,m]=o(()=>[...new Set(t.places)]),[g,_]=o(t.state),[v,y]=o(String(t.factor??.5)),b=d(l(D,N(p))),x=b.data?ee(b.data):[];z(c.current,x);let C=B(c.current,x),T=L(x).size,E=Number(v),k=!b.loading&&x.length>0&&x.length<p.length,A=async({why:e,who:t})=>{let n={addresses:x.map(({address:e})=>e),state:g.toUpperCase(),factor:g===`degraded`?E:null,why:e,who:t,unchangedSince:b.data?.events.nodes[0]?.event??0},{setState:i}=await u({...l(O,{input:n}),at:``});return r(Q(i.changes)),te({message:oe(x,i.changes,g),why:e,who:t,changes:i.changes})},j=a(e,{children:[a(se,{things:b.error||!b.data?p.map(e=>({address:e})):x,places:p,set:m}),k&&a(`p`,{class:`failure`,role:`alert`,children:[`Only `,h(x.length),` of `,h(p.length),` parts were loaded. Set fewer at once.`]}),b.error&&a(`p`,{class:`failure`,role:`alert`,children:b.error.message}),a(`fieldset`,{class:`to`,children:[a(`legend`,{children:`New state`}),re.map(e=>a(`label`,{class:e,children:[a(`input`,{type:`radio`,name:`to`,value:e,checked:e===g,onChange:()=>_(e)}),a(S,{state:e,children:e})]},e))]}),g===`degraded`&&a(`label`,{children:[`Remaining capacity, between 0 and 1`,a(`input`,{type:`number`,name:`factor`,required:!0,min:`0.000001`,max:`0.999999`,step:`any`,value:v,onInput:e=>y(e.currentTarget.value)})]})]});return a(w,{title:`Set state`,action:I(x,g),tone:g===`up`?``:g,asks:[`why`,`who`],most:ie,ready:!b.loading&&x.length>0&&!k,note:`Takes effect immediately`,subject:j,apply:A,describe:({message:e})=>C.length?null:e,close:i,children:[x.length>0&&(g!==`degraded`||E>0&&E<1)&&a(G,{things:x,to:g,factor:E,route:f}),T>16&&a(`label`,{children:[`This affects `,h(T),` chips. Type the number to confirm`,a(`input`,{name:`count`,required:!0,inputMode:`numeric`,autocomplete:`off`,pattern:String(T),title:String(T)})]}),C.length>0&&a(ce,{things:C,seen:c.current})]})}function oe(e,t,n){if(!t.length)return`No change: ${F(e)} already ${y(n)}`;let r=t.filter(({after:e,target:t})=>`state`in t&&t.state!==e).length,i=r?`; ${h(r)} will be ${y(n)} once the server is`:``;return`${F(e)} set to ${n}${i}`}function se({things:e,places:t,set:n}){let[r,i]=o(!1),s=e=>{let r=e.value.trim().toLowerCase();r&&n([...new Set([...t,r])]),i(!1)};return a(`div`,{class:`what`,children:[a(`h3`,{children:`Parts`}),a(`ul`,{children:[e.slice(0,8).map(({address:e,state:r})=>a(`li`,{children:[a(`strong`,{children:g(e)}),` `,r&&a(S,{state:r}),t.length>1&&a(`button`,{type:`button`,class:`plain`,"aria-label":`Remove ${e}`,onClick:()=>n(t.filter(t=>t!==e)),children:`×`})]},e)),e.length>8&&a(`li`,{class:`quiet`,children:[`and `,h(e.length-8),` more`]}),a(`li`,{children:r?a(`input`,{"aria-label":`Another address`,ref:e=>e?.focus(),spellcheck:!1,autocomplete:`off`,onKeyDown:e=>{(e.key===`Enter`||e.key===`Escape`)&&(e.preventDefault(),e.key===`Escape`&&(e.currentTarget.value=``),s(e.currentTarget))},onBlur:e=>s(e.currentTarget)}):a(`button`,{type:`button`,class:`plain`,onClick:()=>i(!0),children:`+ Add`})})]})]})}function ce({things:e,seen:t}){return a(`div`,{class:`conflict`,role:`alert`,children:[a(`strong`,{children:`Changed since you opened this dialog`}),a(`ul`,{class:`plain`,children:e.map(({address:e,state:n,lastChange:r})=>a(`li`,{children:[a(x,{state:n}),` `,g(e),` was `,t.get(e)?.state,`, now `,y(n),r&&`, ${b(r.at)} UTC, ${r.who}: ${r.why}`]},e))}),a(`label`,{children:[a(`input`,{type:`checkbox`,required:!0}),` Set anyway`]},e.map(({lastChange:e})=>e?.event).join())]})}export{$ as open};